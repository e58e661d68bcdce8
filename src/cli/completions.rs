//! `puruto completions`: what a shell needs to complete the command line.

use clap::{Args, Command};
use clap_complete::Shell;

use super::{exit::Exit, failure::Failure, session::World};

/// Flags of `puruto completions`.
#[derive(Args, Debug)]
pub(super) struct CompletionsArgs {
    /// Of which shell
    shell: Shell,
}

/// Writes the completions of `command`.
pub(super) fn run(
    args: &CompletionsArgs,
    mut command: Command,
    world: &World,
) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "puruto", &mut script);
    world.output.raw(&script)?;
    Ok(Exit::Ok)
}
