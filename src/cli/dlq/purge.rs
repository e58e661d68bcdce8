//! `puruto dlq purge`: removes dead letters.

use clap::Args;
use serde_json::json;

use super::choice::{ChoiceArgs, Chosen};
use crate::{
    cli::{
        exit::Exit,
        failure::Failure,
        output::Reader,
        session::{FleetClient, GlobalArgs, World, explain},
    },
    client::ClientFault,
};

/// Flags of `puruto dlq purge`.
#[derive(Args, Debug)]
pub(super) struct PurgeArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
    /// Do it: nothing brings a removed letter back
    #[arg(long)]
    yes: bool,
}

/// Removes the letters that were chosen, and says what became of each.
pub(super) async fn run(
    args: &PurgeArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    let Chosen {
        sequences,
        client,
        gathered,
    } = args.choice.find(global, world).await?;
    let explain = |fault| explain(&gathered, fault);
    if !args.yes && !args.choice.dry_run {
        let count = sequences.len();
        return Err(Failure::Usage(format!(
            "{count} dead letters would be removed for good: say --yes to do it, --dry-run to see which"
        )));
    }
    let mut exit = Exit::Ok;
    for sequence in sequences {
        let came = purge(&client, sequence, args).await.map_err(explain)?;
        if came == GONE {
            exit = Exit::Error;
        }
        world
            .output
            .answer(match world.output.reader(args.choice.json) {
                Reader::Program => json!({"sequence": sequence, "outcome": came.0}).to_string(),
                Reader::Person => format!("{sequence}  {}", came.1),
            })?;
    }
    Ok(exit)
}

/// What became of a letter, for programs and for people.
type Came = (&'static str, &'static str);

const PURGED: Came = ("purged", "purged");
const WOULD_PURGE: Came = ("would_purge", "would be purged");
const GONE: Came = ("gone", "gone: there is no such letter any more");

async fn purge(client: &FleetClient, sequence: u64, args: &PurgeArgs) -> Result<Came, ClientFault> {
    if args.choice.dry_run {
        let found = client.letter(sequence).await?;
        return Ok(found.map_or(GONE, |_| WOULD_PURGE));
    }
    let removed = client.remove_letter(sequence).await?;
    Ok(if removed { PURGED } else { GONE })
}
