//! `puruto check`: everything that is wrong with the workers folder.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{
    exit::Exit,
    failure::Failure,
    session::{GlobalArgs, World},
};
use crate::{policy::Finding, puruto};

/// Flags of `puruto check`.
#[derive(Args, Debug)]
pub(super) struct CheckArgs {
    /// The folder of the fleet's Purutos (default: worker.workers_dir)
    dir: Option<PathBuf>,
    /// Print the findings as a JSON list
    #[arg(long)]
    json: bool,
}

/// Shows each finding; only an error makes it fail.
pub(super) fn run(args: &CheckArgs, global: &GlobalArgs, world: &World) -> Result<Exit, Failure> {
    let dir = match &args.dir {
        Some(dir) => dir.clone(),
        None => global.gather(world, Vec::new())?.config.worker.workers_dir,
    };
    let findings = puruto::check(&dir);
    if args.json {
        world.output.answer(json!(findings))?;
    } else {
        for finding in &findings {
            world.output.answer(finding)?;
        }
        if findings.is_empty() {
            world
                .output
                .answer(format_args!("{}: nothing to correct", dir.display()))?;
        }
    }
    if findings.iter().any(Finding::is_error) {
        return Ok(Exit::Error);
    }
    Ok(Exit::Ok)
}
