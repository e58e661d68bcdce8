"""Answers one InvocationRequest from standard input with one InvocationResult on standard output.

It reads its register and changes nothing, so that a request that runs twice does no harm.
"""

import json
import pathlib
import sys
import time

REGISTER = pathlib.Path(__file__).with_name("register.json")


def read(prompt):
    """The records whose id the prompt names; all of them when it names none."""
    records = json.loads(REGISTER.read_text(encoding="utf-8"))
    named = [record for record in records if record["id"] in prompt]
    found = named or records
    ids = ", ".join(record["id"] for record in found)
    return {"summary": f"Registro leído: {ids}", "records": found}


def answer(request):
    """Either a result or an error, never both."""
    if request["action"] != "read":
        error = {"code": "DENIED", "message": "the register can only be read", "details": None}
        return {"status": "error", "error": error}
    return {"status": "ok", "result": read(request["prompt"])}


def main():
    """One request, one result; what goes wrong stands in the worker's log."""
    started = time.monotonic()
    request = json.loads(sys.stdin.buffer.read())
    result = {
        "request_id": request["request_id"],
        "correlation_id": request["correlation_id"],
        **answer(request),
        "duration_ms": round((time.monotonic() - started) * 1000),
    }
    sys.stdout.buffer.write(json.dumps(result, ensure_ascii=False).encode("utf-8"))


if __name__ == "__main__":
    main()
