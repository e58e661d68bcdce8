//! `puruto config`: the configuration in force.

use clap::Args;
use serde_json::json;

use super::{
    exit::Exit,
    failure::Failure,
    session::{GlobalArgs, World},
};
use crate::config::{Effective, Entry};

/// Flags of `puruto config`.
#[derive(Args, Debug)]
pub(super) struct ConfigArgs {
    /// Print it as a JSON list
    #[arg(long)]
    json: bool,
}

/// Shows every key with its value, secrets masked, and where it was given.
pub(super) fn run(args: &ConfigArgs, global: &GlobalArgs, world: &World) -> Result<Exit, Failure> {
    let effective = global.gather(world, Vec::new())?.effective;
    if args.json {
        let entry = |it: &Entry| {
            json!({
                "key": it.key.to_string(), "value": it.value, "source": it.source.to_string(),
            })
        };
        let entries: Vec<_> = effective.iter().map(entry).collect();
        world.output.answer(json!(entries))?;
    } else {
        world.output.answer(table(&effective))?;
    }
    Ok(Exit::Ok)
}

fn table(effective: &Effective) -> String {
    let rows: Vec<_> = effective
        .iter()
        .map(|it| (it.key.to_string(), it.value.as_str(), it.source.to_string()))
        .collect();
    let widest = |width: fn(&(String, &str, String)) -> usize| rows.iter().map(width).max();
    let key = widest(|row| row.0.len()).unwrap_or_default();
    let value = widest(|row| row.1.len()).unwrap_or_default();
    let line =
        |row: &(String, &str, String)| format!("{:key$}  {:value$}  {}", row.0, row.1, row.2);
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
