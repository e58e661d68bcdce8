//! `puruto cancel`: cancels a request.

use clap::Args;
use serde_json::json;

use super::{
    exit::Exit,
    failure::Failure,
    output::Reader,
    session::{GlobalArgs, World, connect, explain},
};
use crate::{
    client::Cancelled,
    contract::{PurutoName, RequestId},
    policy::PolicySet,
    store::CancelAnswer,
};

/// Flags of `puruto cancel`.
#[derive(Args, Debug)]
pub(super) struct CancelArgs {
    /// The request
    #[arg(value_name = "REQUEST_ID")]
    id: RequestId,
    /// Who was asked; needed while no worker has claimed it
    #[arg(long, value_name = "NAME")]
    target: Option<PurutoName>,
    /// Print JSON on a terminal as well
    #[arg(long)]
    json: bool,
}

/// Cancels and says what came of it.
pub(super) async fn run(
    args: &CancelArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    let gathered = global.gather(world, Vec::new())?;
    let client = connect(world, &gathered, PolicySet::default()).await?;
    let cancelled = client.cancel(&args.id, args.target.as_ref()).await;
    let Cancelled { key, answer } = cancelled.map_err(|fault| explain(&gathered, fault))?;
    let (word, meaning, exit) = match answer {
        CancelAnswer::Flagged => ("flagged", "it ends when a worker takes it", Exit::Ok),
        CancelAnswer::Owned(_) => ("announced", "its worker has been told", Exit::Ok),
        CancelAnswer::Waiting(_) => ("flagged", "it was waiting and ends now", Exit::Ok),
        CancelAnswer::AlreadyDone => ("already_done", "it was done before", Exit::Error),
    };
    world.output.answer(match world.output.reader(args.json) {
        Reader::Program => {
            json!({"request_id": key.request, "target": key.target, "cancel": word}).to_string()
        }
        Reader::Person => format!("{}  {}  {meaning}", key.request, key.target),
    })?;
    Ok(exit)
}
