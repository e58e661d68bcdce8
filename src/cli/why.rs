//! `puruto why`: in plain words, what keeps a request from being finished.

use clap::Args;
use serde_json::json;

use super::{
    exit::Exit,
    failure::Failure,
    output::Reader,
    session::{GlobalArgs, World, connect_whole, explain, workers_dir_flag},
    show::plain,
};
use crate::{
    contract::{PurutoName, RequestId},
    inspect::{Facts, Looking, Reason, Stands, reasons},
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
    let onlooker = connect_whole(world, &gathered)
        .await?
        .onlooker(world, &gathered);
    let looked = match Looking::begin(&onlooker).await {
        Ok(looking) => looking.why(&args.id, args.target.as_ref()).await,
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

fn as_json(facts: &Facts) -> String {
    let reasons: Vec<_> = reasons(facts).iter().map(Reason::to_json).collect();
    let RequestKey { target, request } = &facts.key;
    json!({"request_id": request, "target": target, "reasons": reasons}).to_string()
}

/// A line for each reason, deeper the further down its request is.
fn readable(facts: &Facts) -> String {
    let lines = reasons(facts).into_iter().map(|reason| {
        let indent = "  ".repeat(reason.depth);
        format!("{indent}{}: {}", reason.of(), plain(&reason.text))
    });
    lines.collect::<Vec<_>>().join("\n")
}
