//! `puruto doctor`: what an installation guarantees, and what is wrong with it.

mod look;
mod show;

use clap::Args;

use self::look::look;
use super::{
    exit::Exit,
    failure::Failure,
    session::{GlobalArgs, World},
};
use crate::installation::Level;

/// Flags of `puruto doctor`.
#[derive(Args, Debug)]
pub(super) struct DoctorArgs {
    /// Print JSON on a terminal as well
    #[arg(long)]
    json: bool,
}

/// Looks at everything and changes nothing; only an error makes it fail.
pub(super) async fn run(
    args: &DoctorArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    let gathered = global.gather(world, Vec::new())?;
    let diagnosis = look(world, &gathered).await?;
    show::show(&diagnosis, world.output.reader(args.json), world)?;
    let failed = diagnosis.checks.iter().any(|it| it.level == Level::Error);
    Ok(if failed { Exit::Error } else { Exit::Ok })
}
