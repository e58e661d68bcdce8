//! `puruto run`: the runs of agents, begun, worked on here, shown and cancelled by their ids.

mod begin;
mod show;
mod work;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{
    exit::{Exit, TABLE},
    failure::Failure,
    session::{GlobalArgs, Whole, World, connect_whole, explain, workers_dir_flag},
};
use crate::{
    config::Gathered,
    contract::{PurutoName, RequestId},
    store::{CancelAnswer, RequestKey},
};

/// The agent that is meant where none is named.
const TARGET: &str = "puruto-research";

/// Flags of `puruto run`.
#[derive(Args, Debug)]
pub(super) struct RunArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Begin a run under an id of its own; the same again changes nothing
    New(begin::NewArgs),
    /// Work on a run here until it has ended
    #[command(after_help = TABLE)]
    Work(WhichArgs),
    /// Show where a run stands; changes nothing
    Show(WhichArgs),
    /// Cancel a run; what it has reported stays
    Cancel(WhichArgs),
}

/// Which run.
#[derive(Args, Debug)]
struct WhichArgs {
    /// The run
    #[arg(value_name = "ID")]
    id: RequestId,
    #[command(flatten)]
    of: OfArgs,
}

/// Whose run, and how it is shown.
#[derive(Args, Debug)]
struct OfArgs {
    /// The agent
    #[arg(long, value_name = "NAME", default_value = TARGET)]
    target: PurutoName,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// The folder of the fleet's Purutos
    #[arg(long, value_name = "DIR")]
    workers_dir: Option<PathBuf>,
}

/// A run, and the fleet that it is in.
struct Of<'r> {
    key: RequestKey,
    world: &'r World,
    gathered: &'r Gathered,
    fleet: Whole,
    json: bool,
}

/// Does it.
pub(super) async fn run(
    args: RunArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    let (id, of) = match &args.verb {
        Verb::New(args) => (&args.id, &args.of),
        Verb::Work(args) | Verb::Show(args) | Verb::Cancel(args) => (&args.id, &args.of),
    };
    let gathered = global.gather(world, workers_dir_flag(of.workers_dir.as_deref()))?;
    let of = Of {
        key: RequestKey {
            target: of.target.clone(),
            request: id.clone(),
        },
        world,
        gathered: &gathered,
        fleet: connect_whole(world, &gathered).await?,
        json: of.json,
    };
    match args.verb {
        Verb::New(args) => begin::begin(&of, args).await,
        Verb::Work(_) => work::work(&of).await,
        Verb::Show(_) => show::show(&of).await,
        Verb::Cancel(_) => cancel(&of).await,
    }
}

/// Cancels the run and says whether there was anything to cancel.
async fn cancel(of: &Of<'_>) -> Result<Exit, Failure> {
    of.known().await?;
    let RequestKey { target, request } = &of.key;
    let cancelled = of.fleet.client.cancel(request, Some(target)).await;
    let cancelled = cancelled.map_err(|fault| explain(of.gathered, fault))?;
    let first = cancelled.first().map(|it| &it.answer);
    let was_active = !matches!(first, None | Some(CancelAnswer::AlreadyDone));
    of.world.output.error(match was_active {
        true => "cancelled",
        false => "was not active",
    });
    show::show(of).await
}
