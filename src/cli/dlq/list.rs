//! `puruto dlq list`: which dead letters there are.

use std::num::NonZeroUsize;

use clap::Args;
use serde_json::Value;

use super::{choice::FilterArgs, letter};
use crate::{
    cli::{
        exit::Exit,
        failure::Failure,
        output::Reader,
        session::{GlobalArgs, World, connect, explain},
        table::table,
    },
    client::FoundLetters,
    policy::PolicySet,
};

/// Flags of `puruto dlq list`.
#[derive(Args, Debug)]
pub(super) struct ListArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// No more than the newest of this number
    #[arg(long, value_name = "NUMBER", default_value = "50")]
    limit: NonZeroUsize,
    /// Print JSON on a terminal as well: a line a letter
    #[arg(long)]
    json: bool,
}

/// Lists the letters that fit.
pub(super) async fn run(
    args: &ListArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    let gathered = global.gather(world, Vec::new())?;
    let client = connect(world, &gathered, PolicySet::default()).await?;
    let filter = args.filter.at(world.clock.now());
    let found = client.letters(&filter, args.limit).await;
    let FoundLetters {
        letters,
        older,
        strangers,
    } = found.map_err(|fault| explain(&gathered, fault))?;
    for stranger in strangers {
        world.output.error(format_args!("puruto: {stranger}"));
    }
    match world.output.reader(args.json) {
        Reader::Program => {
            for found in &letters {
                let line = Value::Object(letter::summary(found));
                world.output.answer(line)?;
            }
        }
        Reader::Person => {
            let rows = letters.iter().map(letter::cells).collect();
            world.output.answer(table(letter::HEAD, rows))?;
        }
    }
    if older > 0 {
        world.output.error(format_args!(
            "{older} older ones are not shown: see --limit"
        ));
    }
    Ok(Exit::Ok)
}
