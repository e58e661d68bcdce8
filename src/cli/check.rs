//! `puruto check`: everything that is wrong with the folders of Purutos and of skills.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::{
    exit::Exit,
    failure::Failure,
    session::{GlobalArgs, World},
};
use crate::{
    contract::PurutoName,
    gateway::skills::{self, Skills},
    policy::Finding,
    puruto::{self, Fleet},
};

/// Flags of `puruto check`.
#[derive(Args, Debug)]
pub(super) struct CheckArgs {
    /// The folder of the fleet's Purutos (default: worker.workers_dir)
    dir: Option<PathBuf>,
    /// The folder of the skills (default: gateway.skills_dir, or none where DIR is given)
    #[arg(long, value_name = "DIR")]
    skills: Option<PathBuf>,
    /// Print the findings as a JSON list
    #[arg(long)]
    json: bool,
}

/// Shows each finding; only an error makes it fail.
pub(super) fn run(args: &CheckArgs, global: &GlobalArgs, world: &World) -> Result<Exit, Failure> {
    let config = global.gather(world, Vec::new())?.config;
    let dir = args.dir.as_ref().unwrap_or(&config.worker.workers_dir);
    let skills = match (&args.skills, &args.dir) {
        (None, Some(_)) => None,
        (given, _) => Some(given.as_ref().unwrap_or(&config.gateway.skills_dir)),
    };
    let mut findings = puruto::check(dir);
    if let Some(skills) = skills {
        findings.extend(of_skills(skills, dir, &config.gateway.caller));
    }
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

/// What is wrong with the skills, and which of them the fleet in `workers` would refuse.
fn of_skills(folder: &Path, workers: &Path, caller: &PurutoName) -> Vec<Finding> {
    let skills = match Skills::load(folder) {
        Ok(skills) => skills,
        Err(mistakes) => return mistakes,
    };
    // Where the workers are wrong themselves, there is nothing to hold the skills against.
    Fleet::load(workers).map_or_else(
        |_| Vec::new(),
        |fleet| skills::misfits(&skills, &fleet, caller),
    )
}
