//! The `puruto` binary.

use std::{
    env,
    io::{self, Write as _},
    process::ExitCode,
};

use puruto_fleet::dev::guard;

fn main() -> ExitCode {
    let mut args = env::args_os().skip(1);
    if args.next().is_some_and(|verb| verb == guard::VERB) {
        let error = guard::exec(args);
        drop(writeln!(io::stderr(), "puruto: {error}"));
    }
    ExitCode::from(2)
}
