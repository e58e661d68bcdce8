//! `puruto cancel`: cancels a request with all that it asked, or a whole chain.

use clap::Args;
use serde_json::json;

use super::{
    exit::Exit,
    failure::Failure,
    output::Reader,
    session::{GlobalArgs, World, connect_whole, explain},
};
use crate::{
    client::Cancelled,
    contract::{CorrelationId, PurutoName, RequestId},
    store::CancelAnswer,
};

/// Flags of `puruto cancel`.
#[derive(Args, Debug)]
pub(super) struct CancelArgs {
    /// The request; what it asked of others is cancelled as well
    #[arg(value_name = "REQUEST_ID", required_unless_present = "correlation")]
    id: Option<RequestId>,
    /// Who was asked; needed while no worker has claimed it
    #[arg(long, value_name = "NAME", conflicts_with = "correlation")]
    target: Option<PurutoName>,
    /// Every request of this chain instead
    #[arg(long, value_name = "ID", conflicts_with = "id")]
    correlation: Option<CorrelationId>,
    /// Print JSON on a terminal as well
    #[arg(long)]
    json: bool,
}

/// Cancels and says what came of it, a line for each request.
pub(super) async fn run(
    args: &CancelArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    let gathered = global.gather(world, Vec::new())?;
    let fleet = connect_whole(world, &gathered).await?;
    let cancelled = match (&args.correlation, &args.id) {
        (Some(chain), _) => fleet.client.cancel_chain(chain).await,
        (None, Some(id)) => fleet.client.cancel(id, args.target.as_ref()).await,
        (None, None) => return Err(Failure::Usage("name a request or a chain".to_owned())),
    };
    let cancelled = cancelled.map_err(|fault| explain(&gathered, fault))?;
    let reader = world.output.reader(args.json);
    for one in &cancelled {
        world.output.answer(shown(one, reader))?;
    }
    let all_done = cancelled
        .iter()
        .all(|it| it.answer == CancelAnswer::AlreadyDone);
    Ok(if all_done { Exit::Error } else { Exit::Ok })
}

fn shown(Cancelled { key, answer }: &Cancelled, reader: Reader) -> String {
    let (word, meaning) = match answer {
        CancelAnswer::Flagged => ("flagged", "it ends when a worker takes it"),
        CancelAnswer::Owned(_) => ("announced", "its worker has been told"),
        CancelAnswer::Waiting(_) => ("flagged", "it was waiting and ends now"),
        CancelAnswer::AlreadyDone => ("already_done", "it was done before"),
    };
    match reader {
        Reader::Program => {
            json!({"request_id": key.request, "target": key.target, "cancel": word}).to_string()
        }
        Reader::Person => format!("{}  {}  {meaning}", key.request, key.target),
    }
}
