//! `puruto dlq replay`: runs the requests of dead letters again.

use clap::Args;
use serde_json::{Value, json};

use super::choice::{ChoiceArgs, Chosen};
use crate::{
    cli::{
        exit::Exit,
        failure::Failure,
        output::Reader,
        session::{FleetClient, GlobalArgs, World, explain},
    },
    client::{ClientFault, Demand, Refusal, Replay},
};

/// What a replay is, in full.
pub(super) const HELP: &str = "\
A replay publishes the request to its subject again, with its headers and a message id of its own,
and removes the letter once the broker has it. However often a replay is sent, it runs once.

A request without a result runs under its own id. A result never changes: a request that was
answered as poisoned runs under the id REQUEST_ID-replay-SEQ, in the same chain, so that whoever
watches the chain sees the new result. A request that was answered otherwise, or that may still be
answered, is refused; with --force it runs under such an id as well.

The time-out begins anew; a deadline in the headers is dropped. What no worker could read is refused
always: see it with `puruto dlq show`, and send a correct request in its place.

Exit codes: 0 all were replayed, 1 some were not";

/// Flags of `puruto dlq replay`.
#[derive(Args, Debug)]
pub(super) struct ReplayArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
    /// Also run requests again that were answered, or may still be
    #[arg(long)]
    force: bool,
}

/// What became of one letter.
enum Came {
    Replayed(Replay),
    WouldReplay(Replay),
    Refused(Refusal),
    /// Somebody else was faster.
    Gone,
}

/// Replays the letters that were chosen, oldest first, and says what became of each.
pub(super) async fn run(
    args: &ReplayArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    let Chosen {
        sequences,
        client,
        gathered,
    } = args.choice.find(global, world).await?;
    let explain = |fault| explain(&gathered, fault);
    let mut exit = Exit::Ok;
    for sequence in sequences {
        let came = replay(&client, sequence, args).await.map_err(explain)?;
        if matches!(came, Came::Refused(_) | Came::Gone) {
            exit = Exit::Error;
        }
        let reader = world.output.reader(args.choice.json);
        world.output.answer(match reader {
            Reader::Program => as_json(sequence, &came).to_string(),
            Reader::Person => readable(sequence, &came),
        })?;
    }
    Ok(exit)
}

async fn replay(
    client: &FleetClient,
    sequence: u64,
    args: &ReplayArgs,
) -> Result<Came, ClientFault> {
    let Some(buried) = client.letter(sequence).await? else {
        return Ok(Came::Gone);
    };
    let demand = if args.force {
        Demand::Forced
    } else {
        Demand::Usual
    };
    match client.replay_of(&buried, demand).await? {
        Err(refusal) => Ok(Came::Refused(refusal)),
        Ok(replay) if args.choice.dry_run => Ok(Came::WouldReplay(replay)),
        Ok(replay) => {
            client.replay(&replay).await?;
            Ok(Came::Replayed(replay))
        }
    }
}

fn as_json(sequence: u64, came: &Came) -> Value {
    let replayed = |outcome: &str, replay: &Replay| {
        json!({
            "sequence": sequence,
            "outcome": outcome,
            "target": replay.target,
            "correlation_id": replay.correlation,
            "request_id": replay.original,
            "replayed_as": replay.request,
        })
    };
    match came {
        Came::Replayed(replay) => replayed("replayed", replay),
        Came::WouldReplay(replay) => replayed("would_replay", replay),
        Came::Refused(refusal) => {
            json!({"sequence": sequence, "outcome": "refused", "message": refusal.to_string()})
        }
        Came::Gone => json!({"sequence": sequence, "outcome": "gone"}),
    }
}

fn readable(sequence: u64, came: &Came) -> String {
    let replayed = |how: &str, replay: &Replay| {
        let Replay {
            target, request, ..
        } = replay;
        format!("{sequence}  {how}  {target}  {request}")
    };
    match came {
        Came::Replayed(replay) => replayed("replayed", replay),
        Came::WouldReplay(replay) => replayed("would be replayed", replay),
        Came::Refused(refusal) => format!("{sequence}  refused  {refusal}"),
        Came::Gone => format!("{sequence}  gone  there is no such letter any more"),
    }
}
