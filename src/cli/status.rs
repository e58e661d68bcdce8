//! `puruto status`: where a request stands.

use clap::Args;
use serde_json::{Value, json};

use super::{
    exit::Exit,
    failure::Failure,
    output::Reader,
    progress::words,
    session::{GlobalArgs, World, connect, explain},
};
use crate::{
    client::{Standing, Status},
    contract::{PurutoName, RequestId},
    policy::PolicySet,
    store::kin::WaitsOn,
};

/// What is said of a request of which there is neither record nor result.
const UNKNOWN: &str = "not claimed by a worker yet, or never published";

/// Flags of `puruto status`.
#[derive(Args, Debug)]
pub(super) struct StatusArgs {
    /// The request
    #[arg(value_name = "REQUEST_ID")]
    id: RequestId,
    /// Only the request of this target
    #[arg(long, value_name = "NAME")]
    target: Option<PurutoName>,
    /// Print JSON on a terminal as well
    #[arg(long)]
    json: bool,
}

/// Shows where each request of this id stands.
pub(super) async fn run(
    args: &StatusArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    let gathered = global.gather(world, Vec::new())?;
    let client = connect(world, &gathered, PolicySet::default()).await?;
    let found = client.status(&args.id, args.target.as_ref()).await;
    let found = found.map_err(|fault| explain(&gathered, fault))?;
    let reader = world.output.reader(args.json);
    for status in &found {
        world.output.answer(match reader {
            Reader::Program => as_json(&args.id, status).to_string(),
            Reader::Person => readable(&args.id, status),
        })?;
    }
    if found.is_empty() {
        world.output.answer(match reader {
            Reader::Program => {
                json!({"request_id": args.id, "state": "unknown", "message": UNKNOWN}).to_string()
            }
            Reader::Person => format!("{}  {UNKNOWN}", args.id),
        })?;
        return Ok(Exit::Error);
    }
    Ok(Exit::Ok)
}

fn state(standing: &Standing) -> &'static str {
    match standing {
        Standing::Intended => "intended",
        Standing::Waiting {
            cancelled: true, ..
        } => "cancelling",
        Standing::Waiting {
            on: WaitsOn::Children,
            ..
        } => "waiting",
        Standing::Waiting {
            on: WaitsOn::Verdict,
            ..
        } => "awaiting_verdict",
        Standing::Flagged => "cancel_requested",
        Standing::Claimed {
            cancelled: true, ..
        } => "cancelling",
        Standing::Claimed {
            owner_alive: true, ..
        } => "running",
        Standing::Claimed {
            owner_alive: false, ..
        } => "orphaned",
        Standing::Released => "queued",
        Standing::Done(_) => "done",
    }
}

fn as_json(id: &RequestId, status: &Status) -> Value {
    let result = match &status.standing {
        Standing::Done(result) => result.as_ref(),
        Standing::Intended
        | Standing::Flagged
        | Standing::Claimed { .. }
        | Standing::Released
        | Standing::Waiting { .. } => None,
    };
    json!({
        "request_id": id,
        "target": status.target,
        "correlation_id": status.correlation,
        "state": state(&status.standing),
        "attempts": status.attempts,
        "age_ms": status.age.map(|it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX)),
        "result": result,
    })
}

fn readable(id: &RequestId, status: &Status) -> String {
    let target = status.target.as_ref().map_or("?", |it| it.as_str());
    let age = status
        .age
        .map(|age| format!("  {}", humantime::format_duration(age)));
    let outcome = match &status.standing {
        Standing::Done(Some(result)) => format!(", {}", result.outcome.status()),
        Standing::Done(None) => ", its result is no longer kept".to_owned(),
        Standing::Intended
        | Standing::Flagged
        | Standing::Claimed { .. }
        | Standing::Released
        | Standing::Waiting { .. } => String::new(),
    };
    format!(
        "{id}  {target}  {}{outcome}{}",
        words(status),
        age.unwrap_or_default()
    )
}
