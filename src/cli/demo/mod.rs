//! `puruto demo`: a fleet of its own, asked, denied, timed out and killed before your eyes.
//!
//! Owns the play and its verdict: it ends well only if every outcome was right. A wrong one is
//! shown as such and the rest still plays. Never: a server, a folder or a setting of yours.

mod by_hand;
mod cast;
mod chain;
mod expected;
mod fault;
mod kill;
mod report;
mod scenes;
mod scratch;
mod stage;
mod takeover;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use toml::Table;

pub(super) use self::fault::DemoFault;
use self::{
    cast::Voice,
    expected::Expected,
    report::Report,
    scenes::{Line, SHIPPED},
    scratch::Scratch,
    stage::Stage,
};
use super::{
    dev::{plan::places, screen::Screen, signals},
    session::World,
};
use crate::{
    dev::{
        find::Places,
        guard::Guard,
        model::{MODEL, ModelServer},
        say::Say as _,
    },
    puruto::Fleet,
};

/// Flags of `puruto demo`.
#[derive(Args, Debug)]
pub(super) struct DemoArgs {
    /// Let a real model answer; it is fetched first (130 MB) and runs on this machine
    #[arg(long, value_enum)]
    model: Option<Model>,
    /// The folder with the Purutos that ship
    #[arg(long, value_name = "DIR", default_value = "workers")]
    workers_dir: PathBuf,
}

/// A real model that the demo can fetch and run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Model {
    /// SmolLM2-135M-Instruct: small, quick, and not wise
    #[value(name = "smollm2")]
    SmolLm2,
}

/// What is played on.
struct Theatre<'w> {
    world: &'w World,
    places: Places,
    scratch: Scratch,
    /// The Purutos that ship.
    shipped: Fleet,
}

/// Plays; true when every outcome was right.
///
/// # Errors
///
/// It cannot be played, or somebody ended it. Nothing of it is left running.
pub(super) async fn run(args: &DemoArgs, world: &World) -> Result<bool, DemoFault> {
    let ends = signals::listen()?;
    let mut report = Report::new(Screen::stdout(&world.environment));
    let theatre = Theatre {
        world,
        places: places(&world.environment),
        shipped: Fleet::load(&world.folder.join(&args.workers_dir)).map_err(DemoFault::Workers)?,
        scratch: Scratch::new(&world.chance)?,
    };
    let play = async {
        match args.model {
            None => play(theatre, &Voice::Own, &SHIPPED, &mut report).await,
            Some(Model::SmolLm2) => play_with_model(theatre, &mut report).await,
        }
    };
    let played = ends.orderly.run_until_cancelled(Box::pin(play)).await;
    played.unwrap_or(Err(DemoFault::Interrupted))
}

/// The same requests, answered by a real model.
async fn play_with_model(theatre: Theatre<'_>, report: &mut Report) -> Result<bool, DemoFault> {
    report.part("A real model on this machine");
    let guard = Guard::new(std::env::current_exe()?);
    let log = theatre.scratch.path().join("model.log");
    let server = ModelServer::start(&theatre.places, &guard, &log, &theatre.world.chance, report);
    let server = server.await?;
    let lines = SHIPPED.map(
        |line| match theatre.shipped.get(&line.invocation().target) {
            Some(puruto) if cast::asks_a_model(puruto) => Line {
                expected: Expected::Model,
                ..line
            },
            Some(_) | None => line,
        },
    );
    play(theatre, &Voice::Instead(provider(&server)), &lines, report).await
}

/// How the Purutos reach it. Its answers are kept short and the same each time.
fn provider(server: &ModelServer) -> Table {
    toml::toml! {
        provider = "openai"
        max_tokens = 48
        temperature = 0.0
    }
    .into_iter()
    .chain([
        ("base_url".to_owned(), server.base_url().into()),
        ("model".to_owned(), MODEL.into()),
    ])
    .collect()
}

async fn play(
    theatre: Theatre<'_>,
    voice: &Voice,
    lines: &[Line],
    report: &mut Report,
) -> Result<bool, DemoFault> {
    report.part("Three worker processes on a real NATS and a real Redis");
    let Theatre {
        world,
        places,
        scratch,
        shipped,
    } = theatre;
    let cast = scratch.path().join("workers");
    cast::assemble(&cast, shipped.purutos(), voice)?;
    let mut stage = Stage::set(scratch, &cast, world, &places, report).await?;
    report.say("all three workers serve");
    scenes::shipped(&stage.caller, lines, report).await;
    scenes::denied(&stage.caller, report).await;
    scenes::late(&stage.caller, report).await;
    takeover::play(&mut stage, report).await;
    chain::play(&mut stage, report).await;
    by_hand::show(report);
    let all_right = report.end();
    if !all_right {
        report.detail(&format!("the logs are in {}", stage.keep_logs().display()));
    }
    stage.strike().await?;
    Ok(all_right)
}
