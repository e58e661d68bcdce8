//! `puruto dlq show`: all that is known of a dead letter.

use std::num::NonZeroUsize;

use clap::Args;
use serde_json::Value;

use super::letter;
use crate::{
    broker::BuriedLetter,
    cli::{
        exit::Exit,
        failure::Failure,
        output::Reader,
        session::{FleetClient, GlobalArgs, World, connect, explain},
    },
    client::{ClientFault, LetterFilter},
    contract::RequestId,
    policy::PolicySet,
};

/// No request dies more often.
const SHOWN_MAX: NonZeroUsize = NonZeroUsize::MIN.saturating_add(99);

/// Flags of `puruto dlq show`.
#[derive(Args, Debug)]
pub(super) struct ShowArgs {
    /// The letter by its sequence, or all letters of a request by its id
    #[arg(value_name = "SEQ|REQUEST_ID")]
    which: RequestId,
    /// Print JSON on a terminal as well
    #[arg(long)]
    json: bool,
}

/// Shows the letter, or the letters of the request.
pub(super) async fn run(
    args: &ShowArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    let gathered = global.gather(world, Vec::new())?;
    let client = connect(world, &gathered, PolicySet::default()).await?;
    let found = find(&client, &args.which).await;
    let found = found.map_err(|fault| explain(&gathered, fault))?;
    for buried in &found {
        world.output.answer(match world.output.reader(args.json) {
            Reader::Program => Value::Object(letter::whole(buried)).to_string(),
            Reader::Person => letter::readable(buried),
        })?;
    }
    if found.is_empty() {
        let which = &args.which;
        world.output.error(format_args!(
            "puruto: no dead letter has the sequence or the request id {which}"
        ));
        return Ok(Exit::Error);
    }
    Ok(Exit::Ok)
}

/// A number is a sequence first: a request id may be one as well.
async fn find(client: &FleetClient, which: &RequestId) -> Result<Vec<BuriedLetter>, ClientFault> {
    if let Ok(sequence) = which.as_str().parse()
        && let Some(found) = client.letter(sequence).await?
    {
        return Ok(vec![found]);
    }
    let of_request = LetterFilter::of_request(which.clone());
    Ok(client.letters(&of_request, SHOWN_MAX).await?.letters)
}
