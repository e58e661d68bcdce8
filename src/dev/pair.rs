//! A NATS server and a Redis server that belong together.
//!
//! Owns the order: programs first, then both servers at once, each step said in a line.

use std::path::PathBuf;

use super::{
    error::DevError,
    find::Places,
    guard::Guard,
    obtain,
    port::PortChoice,
    redis::Fsync,
    say::Say,
    server::{Launch, Server},
    tool::Tool,
};
use crate::clock::Chance;

/// What a pair is started with.
#[derive(Clone, Debug)]
pub struct PairLaunch {
    /// The folder under which each server has a folder of its own; made when missing.
    pub data: PathBuf,
    /// Where NATS shall listen.
    pub nats_port: PortChoice,
    /// Where Redis shall listen.
    pub redis_port: PortChoice,
    /// How Redis has what it wrote put on the disk.
    pub fsync: Fsync,
    /// Lets them not outlive us.
    pub guard: Guard,
}

/// Both servers; dropping them kills them.
#[derive(Debug)]
pub struct Pair {
    /// The broker.
    pub nats: Server,
    /// The lease store.
    pub redis: Server,
}

impl Pair {
    /// Finds or installs both programs, starts both and waits until both answer.
    ///
    /// # Errors
    ///
    /// As [`obtain`] and [`Server::start`]; a port that was asked for and is taken is told before
    /// anything is installed.
    pub async fn start(
        launch: &PairLaunch,
        places: &Places,
        chance: &Chance,
        say: &dyn Say,
    ) -> Result<Self, DevError> {
        for tool in [Tool::Nats, Tool::Redis] {
            launch.port(tool).pick(tool, chance)?;
        }
        let nats = launch.of(Tool::Nats, places, say).await?;
        let redis = launch.of(Tool::Redis, places, say).await?;
        let (nats, redis) = tokio::try_join!(up(nats, chance, say), up(redis, chance, say))?;
        Ok(Self { nats, redis })
    }

    /// Waits until one of them has ended, which neither does by itself; says which.
    ///
    /// # Errors
    ///
    /// As [`Server::ended`].
    pub async fn ended(&mut self) -> Result<Tool, DevError> {
        tokio::select! {
            ended = self.nats.ended() => ended.map(|()| Tool::Nats),
            ended = self.redis.ended() => ended.map(|()| Tool::Redis),
        }
    }

    /// Lets both end in good order.
    ///
    /// # Errors
    ///
    /// As [`Server::stop`]; the other one is stopped all the same.
    pub async fn stop(&mut self) -> Result<(), DevError> {
        let (nats, redis) = tokio::join!(self.nats.stop(), self.redis.stop());
        nats.and(redis)
    }
}

impl PairLaunch {
    const fn port(&self, tool: Tool) -> PortChoice {
        match tool {
            Tool::Nats => self.nats_port,
            Tool::Redis => self.redis_port,
        }
    }

    async fn of(&self, tool: Tool, places: &Places, say: &dyn Say) -> Result<Launch, DevError> {
        let found = obtain(tool, places, say).await?;
        say.say(&format!(
            "{tool} {} is {}",
            found.version,
            found.program.display()
        ));
        Ok(Launch {
            tool,
            program: found.program,
            data: self.data.join(tool.name()),
            settings: None,
            fsync: self.fsync,
            port: self.port(tool),
            guard: self.guard.clone(),
        })
    }
}

async fn up(launch: Launch, chance: &Chance, say: &dyn Say) -> Result<Server, DevError> {
    let tool = launch.tool;
    let server = Server::start(launch, chance).await?;
    say.say(&format!("{tool} is up at {}", server.url()));
    Ok(server)
}
