//! `puruto why`: in plain words, what keeps a request from being finished.

mod facts;
mod look;
mod words;

use clap::Args;
use serde_json::json;

use self::{
    facts::{Facts, Stands},
    look::Looking,
};
use super::{
    exit::Exit,
    failure::Failure,
    output::Reader,
    session::{GlobalArgs, World, connect_whole, explain, workers_dir_flag},
    show::plain,
};
use crate::{
    client::{ClientFault, Sought},
    contract::{PurutoName, RequestId},
    store::RequestKey,
};

/// Flags of `puruto why`.
#[derive(Args, Debug)]
pub(super) struct WhyArgs {
    /// The request
    #[arg(value_name = "REQUEST_ID")]
    id: RequestId,
    /// Only the request of this target
    #[arg(long, value_name = "NAME")]
    target: Option<PurutoName>,
    /// The folder of the fleet's Purutos, which says what models they ask
    #[arg(long, value_name = "DIR")]
    workers_dir: Option<std::path::PathBuf>,
    /// Print JSON on a terminal as well
    #[arg(long)]
    json: bool,
}

/// Says why, following what it waits for down to the root causes.
pub(super) async fn run(
    args: &WhyArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    let gathered = global.gather(world, workers_dir_flag(args.workers_dir.as_deref()))?;
    let fleet = connect_whole(world, &gathered).await?;
    let looking = Looking::begin(world, &gathered, fleet).await;
    let looked = match looking {
        Ok(looking) => looked(args, &looking).await,
        Err(fault) => Err(fault),
    };
    let facts = looked.map_err(|fault| explain(&gathered, fault))?;
    world.output.answer(match world.output.reader(args.json) {
        Reader::Program => as_json(&facts),
        Reader::Person => readable(&facts),
    })?;
    let is_unknown = matches!(facts.stands, Stands::Unknown);
    Ok(if is_unknown { Exit::Error } else { Exit::Ok })
}

async fn looked(args: &WhyArgs, looking: &Looking) -> Result<Facts, ClientFault> {
    let client = &looking.fleet.client;
    let request = args.id.clone();
    let found = client.status(&args.id, args.target.as_ref()).await?;
    let mut targets: Vec<_> = found.into_iter().filter_map(|it| it.target).collect();
    if targets.is_empty() {
        let queued = client
            .queued(Sought::Request(&args.id), args.target.as_ref())
            .await?;
        targets.extend(queued.into_iter().map(|it| it.target));
        targets.dedup();
    }
    let target = match (targets.pop(), targets.is_empty(), &args.target) {
        (Some(only), true, _) => only,
        (Some(last), false, _) => {
            targets.push(last);
            return Err(ClientFault::Ambiguous { request, targets });
        }
        (None, _, Some(named)) => named.clone(),
        (None, _, None) => return Err(ClientFault::NotQueued { request }),
    };
    looking.at(RequestKey { target, request }, None, 0).await
}

fn as_json(facts: &Facts) -> String {
    let reasons = words::reasons(facts);
    let reasons: Vec<_> = reasons.iter().map(words::Reason::to_json).collect();
    let RequestKey { target, request } = &facts.key;
    json!({"request_id": request, "target": target, "reasons": reasons}).to_string()
}

/// A line for each reason, deeper the further down its request is.
fn readable(facts: &Facts) -> String {
    let lines = words::reasons(facts).into_iter().map(|reason| {
        let indent = "  ".repeat(reason.depth);
        format!("{indent}{}: {}", reason.of(), plain(&reason.text))
    });
    lines.collect::<Vec<_>>().join("\n")
}
