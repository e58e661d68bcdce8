//! `puruto targets`: what waits for each target, what is at work and how fast it goes.

use std::time::Duration;

use serde_json::Value;

use super::{ListArgs, Listing, rough, show};
use crate::{
    cli::{
        exit::Exit,
        failure::Failure,
        session::{GlobalArgs, World, connect_nats},
    },
    inspect::{Target, Targets, TargetsReader},
};

/// Lists the targets.
pub(in crate::cli) async fn targets(
    args: &ListArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    let gathered = global.gather(world, Vec::new())?;
    let nats = connect_nats(world, &gathered).await?;
    let subjects = &gathered.config.nats.prefix;
    let mut reader = TargetsReader::default();
    let read = async || reader.read(&nats, subjects, &world.clock).await;
    show(args, world, &gathered, read).await
}

impl Listing for Targets {
    fn to_json(&self) -> Value {
        Self::to_json(self)
    }

    fn rows(&self) -> (&'static [&'static str], Vec<Vec<String>>) {
        let head = &[
            "target",
            "high",
            "normal",
            "low",
            "running",
            "oldest",
            "per second",
            "workers",
        ];
        let rows = self.iter().map(|(name, target)| cells(name, target));
        (head, rows.collect())
    }
}

fn cells(name: &str, target: &Target) -> Vec<String> {
    let none = || "none".to_owned();
    let oldest = |oldest: Duration| rough(oldest.as_secs().saturating_mul(1_000));
    vec![
        name.to_owned(),
        target.high.to_string(),
        target.normal.to_string(),
        target.low.to_string(),
        target.running.to_string(),
        target.oldest.map_or_else(none, oldest),
        target.rate.map_or_else(none, |rate| format!("{rate:.1}")),
        target.workers.to_string(),
    ]
}
