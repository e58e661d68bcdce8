//! `puruto dlq`: the requests that died, and what can still be done about them.

mod choice;
mod letter;
mod list;
mod purge;
mod replay;
mod show;

use clap::{Args, Subcommand};

use super::{
    exit::Exit,
    failure::Failure,
    session::{GlobalArgs, World},
};

/// What `puruto dlq` is told.
#[derive(Args, Debug)]
pub(super) struct DlqArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List dead letters, the newest last
    List(list::ListArgs),
    /// Show everything that is known of a dead letter, its message included
    Show(show::ShowArgs),
    /// Run the requests of dead letters again
    #[command(after_help = replay::HELP)]
    Replay(replay::ReplayArgs),
    /// Remove dead letters for good
    Purge(purge::PurgeArgs),
}

/// Does what was told.
pub(super) async fn run(
    args: &DlqArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::List(args) => list::run(args, global, world).await,
        Verb::Show(args) => show::run(args, global, world).await,
        Verb::Replay(args) => replay::run(args, global, world).await,
        Verb::Purge(args) => purge::run(args, global, world).await,
    }
}
