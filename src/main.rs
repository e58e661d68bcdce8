//! The `puruto` binary: the process as values, then one verb.

use std::{env, io, path::PathBuf, process::ExitCode};

use puruto_fleet::{
    cli::{self, Exit, Output, World},
    clock::{Chance, Clock},
    config::Environment,
    dev::guard,
};

/// A walk allocates much and briefly; glibc's allocator takes a third of a busy worker's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut args = env::args_os().skip(1);
    if args.next().is_some_and(|verb| verb == guard::VERB) {
        return guarded(args);
    }
    // One provider for every connection with TLS; there is none before.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let mut world = World {
        environment: Environment::of_process(),
        folder: PathBuf::new(),
        stdin: Box::new(io::stdin()),
        output: Output::of_process(),
        clock: Clock::system(),
        chance: Chance::system(),
    };
    cli::run(env::args_os(), &mut world).into()
}

/// Becomes the program to be guarded; comes back only when that cannot be.
fn guarded(args: impl Iterator<Item = std::ffi::OsString>) -> ExitCode {
    let error = guard::exec(args);
    Output::of_process().error(format_args!("puruto: {error}"));
    Exit::Usage.into()
}
