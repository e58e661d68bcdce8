"""Serves a small language model on the loopback address, until it is killed.

Arguments: PACKAGE ALIAS PORT. PACKAGE holds the model's one .gguf file; it is found, not imported.
"""

import importlib.util
import pathlib
import signal
import sys

import xllamacpp


def model_file(package):
    folder = pathlib.Path(importlib.util.find_spec(package).origin).parent
    (file,) = folder.glob("*.gguf")
    return str(file)


def parameters(package, alias, port):
    it = xllamacpp.CommonParams()
    it.model.path = model_file(package)
    it.model_alias = {alias}
    it.hostnames = ["127.0.0.1"]
    it.port = port
    it.n_ctx = 4096
    it.n_parallel = 2
    # More threads than free cores spin against each other: one is the fastest on a busy machine.
    it.cpuparams.n_threads = 1
    it.cpuparams_batch.n_threads = 1
    it.n_gpu_layers = 0
    return it


def main():
    package, alias, port = sys.argv[1:]
    server = xllamacpp.Server(parameters(package, alias, int(port)))
    print("listening on", server.listening_address, flush=True)
    signal.pause()


main()
