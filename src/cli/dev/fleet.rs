//! The running whole of `puruto dev`: two servers, the workers on them, and a gateway.
//!
//! Owns the order: servers before workers at the start, workers before servers at the end.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{
    DevFault,
    hints::Addresses,
    keeper::{Keeper, KeeperFault},
    plan::Plan,
    relay::follow,
    screen::{Colour, Screen, Voice},
};
use crate::{
    clock::Chance,
    dev::{
        error::DevError,
        launch::{self, Launch, Output, Role},
        pair::{Pair, PairLaunch},
        port::Port,
        redis::Fsync,
        server::Server,
        tool::Tool,
    },
};

/// Where the gateway listens if that is free and nobody says otherwise.
const GATEWAY_PORT: Port = Port::new(8080);

/// How long beyond its own bound for draining a worker may take to end.
const STOP_GRACE: Duration = Duration::from_secs(10);

/// The running fleet; dropping it kills it.
pub(super) struct Fleet {
    servers: Pair,
    /// Where each worker began to serve `/metrics`.
    telemetry: Vec<Port>,
    /// Where the gateway began to serve.
    gateway: Option<Port>,
    keepers: JoinSet<Result<(), KeeperFault>>,
    stop: CancellationToken,
    logs: JoinSet<()>,
}

impl Fleet {
    /// Starts everything; the workers may not serve yet.
    pub(super) async fn start(plan: &Plan, screen: &Screen) -> Result<Self, DevFault> {
        let chance = Chance::system();
        let listen = gateway_port(plan, &chance)?;
        let voice = Voice::new(screen, "dev", Colour::Faint);
        let launch = PairLaunch {
            data: plan.data_dir.clone(),
            nats_port: plan.nats_port,
            redis_port: plan.redis_port,
            fsync: Fsync::EverySecond,
            guard: plan.guard.clone(),
        };
        let servers = Pair::start(&launch, &plan.places, &chance, &voice).await?;
        let mut fleet = Self {
            telemetry: Vec::new(),
            gateway: None,
            keepers: JoinSet::new(),
            stop: CancellationToken::new(),
            logs: JoinSet::new(),
            servers,
        };
        fleet.show_servers(screen);
        fleet.start_workers(plan, screen, &chance)?;
        fleet.start_gateway(listen, plan, screen, &chance)?;
        Ok(fleet)
    }

    fn show_servers(&mut self, screen: &Screen) {
        let servers = [
            (Tool::Nats, &self.servers.nats, Colour::Blue),
            (Tool::Redis, &self.servers.redis, Colour::Magenta),
        ];
        for (tool, server, colour) in servers {
            let (log, voice) = (server.log(), Voice::new(screen, tool.name(), colour));
            self.logs.spawn(async move { follow(&log, &voice).await });
        }
    }

    fn start_workers(
        &mut self,
        plan: &Plan,
        screen: &Screen,
        chance: &Chance,
    ) -> Result<(), DevError> {
        let colours = [Colour::Green, Colour::Cyan, Colour::Yellow];
        for (number, colour) in (1..=plan.workers.get()).zip(colours.into_iter().cycle()) {
            let name = format!("worker-{number}");
            let voice = Voice::new(screen, &name, colour);
            let launch = self.launch(Role::Worker, name, plan, Port::free(chance)?);
            self.keep(launch, voice, plan, chance);
        }
        Ok(())
    }

    fn start_gateway(
        &mut self,
        listen: Port,
        plan: &Plan,
        screen: &Screen,
        chance: &Chance,
    ) -> Result<(), DevError> {
        let voice = Voice::new(screen, "gateway", Colour::Blue);
        let role = Role::Gateway { listen };
        let mut launch = self.launch(role, "gateway".to_owned(), plan, Port::free(chance)?);
        launch.set.extend(plan.way_in.variable());
        self.gateway = Some(listen);
        self.keep(launch, voice, plan, chance);
        Ok(())
    }

    fn keep(&mut self, launch: Launch, voice: Voice, plan: &Plan, chance: &Chance) {
        self.telemetry.push(launch.telemetry);
        let keeper = Keeper {
            launch,
            voice,
            chance: chance.clone(),
            stop: self.stop.clone(),
            stop_within: plan.drain_timeout + STOP_GRACE,
        };
        self.keepers.spawn(keeper.keep());
    }

    fn launch(&self, role: Role, name: String, plan: &Plan, telemetry: Port) -> Launch {
        let mut set = launch::variables_of(&self.servers);
        set.extend(plan.variables.iter().cloned());
        Launch {
            role,
            name,
            workers_dir: plan.workers_dir.clone(),
            folder: None,
            telemetry,
            arguments: plan.arguments.clone(),
            set,
            unset: Vec::new(),
            output: Output::Piped,
            guard: plan.guard.clone(),
        }
    }

    /// Where it is.
    pub(super) fn addresses(&self) -> Addresses {
        Addresses {
            gateway: self.gateway,
            nats: self.servers.nats.url(),
            redis: self.servers.redis.url(),
            telemetry: self.telemetry.clone(),
        }
    }

    /// Waits until something ended that should not have, and says what.
    pub(super) async fn failed(&mut self) -> DevFault {
        tokio::select! {
            ended = self.servers.ended() => match ended {
                Ok(tool) => DevFault::ServerEnded { tool, log: self.server(tool).log() },
                Err(error) => error.into(),
            },
            fault = first_fault(&mut self.keepers) => fault,
        }
    }

    const fn server(&self, tool: Tool) -> &Server {
        match tool {
            Tool::Nats => &self.servers.nats,
            Tool::Redis => &self.servers.redis,
        }
    }

    /// Lets the workers drain, then the servers end. A worker's own trouble while it ends was
    /// shown in its log.
    pub(super) async fn stop(&mut self) -> Result<(), DevFault> {
        self.stop.cancel();
        while self.keepers.join_next().await.is_some() {}
        self.servers.stop().await?;
        Ok(())
    }
}

/// Where the gateway is to listen. A port that somebody named is that one or none.
fn gateway_port(plan: &Plan, chance: &Chance) -> Result<Port, DevFault> {
    let wanted = plan.gateway_port.unwrap_or(GATEWAY_PORT);
    let free = wanted.or_free(chance)?;
    if plan.gateway_port.is_some() && free != wanted {
        return Err(DevFault::GatewayPortTaken { port: wanted });
    }
    Ok(free)
}

/// Never ends while every worker is kept.
async fn first_fault(keepers: &mut JoinSet<Result<(), KeeperFault>>) -> DevFault {
    loop {
        match keepers.join_next().await {
            Some(Ok(Err(fault))) => return fault.into(),
            Some(Err(error)) => return DevFault::Io(error.into()),
            // It was told to stop.
            Some(Ok(Ok(()))) => {}
            None => std::future::pending().await,
        }
    }
}
