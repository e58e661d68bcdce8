//! `puruto gateway`: the edge to whoever speaks HTTP.

mod compose;
mod dashboard;
mod doors;
mod fault;
mod readiness;

use std::net::SocketAddr;

use clap::Args;

pub(super) use self::{compose::public_url, fault::GatewayFault};
use super::{
    exit::Exit,
    failure::Failure,
    logs,
    session::{GlobalArgs, World, workers_dir_flag},
};
use crate::config::Flag;

/// Flags of `puruto gateway`; each is a key of the configuration.
#[derive(Args, Debug)]
pub(super) struct GatewayArgs {
    /// Serve here (port 0: any free one)
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// The folder of the skills' descriptors
    #[arg(long, value_name = "DIR")]
    skills_dir: Option<std::path::PathBuf>,
    /// The folder of the fleet's Purutos, which says what the gateway may ask for
    #[arg(long, value_name = "DIR")]
    workers_dir: Option<std::path::PathBuf>,
}

impl GatewayArgs {
    fn flags(&self) -> Vec<Flag> {
        let flag = |flag: &str, key: &str, value: String| Flag {
            flag: flag.to_owned(),
            key: key.to_owned(),
            value,
        };
        let listen = self
            .listen
            .map(|it| flag("--listen", "gateway.listen", it.to_string()));
        let skills = self.skills_dir.as_ref();
        let skills = skills.map(|it| {
            flag(
                "--skills-dir",
                "gateway.skills_dir",
                it.display().to_string(),
            )
        });
        let mut flags = workers_dir_flag(self.workers_dir.as_deref());
        flags.extend(listen.into_iter().chain(skills));
        flags
    }
}

/// Serves until it is told to stop.
pub(super) fn run(args: &GatewayArgs, global: &GlobalArgs, world: &World) -> Result<Exit, Failure> {
    let gathered = global.gather(world, args.flags())?;
    let logs = logs::start(&gathered.config, world)?;
    let served = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(compose::serve(&gathered.config, world));
    logs.finish(world);
    served?;
    Ok(Exit::Ok)
}
