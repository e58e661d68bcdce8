//! Where the demo plays: servers, worker processes and a caller of its own, all fresh.
//!
//! Owns them and their folder. Nothing that is configured or running elsewhere has a part in it.

use std::{env, io, path::Path, time::Duration};

use super::{DemoFault, scratch::Scratch};
use crate::{
    broker::nats::NatsClient,
    cli::{
        session::{FleetClient, World, connect, connect_whole},
        tree::drawn,
    },
    client::{Client, ClientFault, Invocation, Invoked},
    config::{Gathered, Inputs, gather},
    contract::{CorrelationId, InvocationResult, RequestId},
    dev::{
        find::Places,
        guard::Guard,
        launch::{self, Launch, Output, Role},
        member::{self, Member},
        pair::{Pair, PairLaunch},
        port::{Port, PortChoice},
        redis::Fsync,
        say::Say,
    },
    puruto::Fleet,
    store::redis::RedisStore,
};

/// Short enough that a take-over fits into a demo; a fleet's own are some times longer.
const SHORT_TIMES: [(&str, &str); 6] = [
    ("PURUTO_REDIS__SESSION_TTL", "2s"),
    ("PURUTO_REDIS__SESSION_RENEW", "500ms"),
    ("PURUTO_REDIS__SESSION_MARGIN", "500ms"),
    ("PURUTO_REDIS__RESPONSE_TIMEOUT", "400ms"),
    ("PURUTO_NATS__ACK_WAIT", "2s"),
    ("PURUTO_WORKER__PROGRESS_INTERVAL", "600ms"),
];
/// Their names.
const WORKERS: [&str; 3] = ["worker-1", "worker-2", "worker-3"];
/// How long the workers may take to drain; nothing runs any more by then.
const DRAIN_WITHIN: Duration = Duration::from_secs(5);

/// A worker process and what it is called.
#[derive(Debug)]
pub(super) struct Player {
    pub(super) name: &'static str,
    pub(super) process: Member,
}

/// The caller of the demo. A clone shares its connections.
#[derive(Clone, Debug)]
pub(super) struct Caller(FleetClient);

impl Caller {
    /// Asks, and waits for the answer.
    pub(super) async fn ask(
        &self,
        invocation: Invocation,
    ) -> Result<InvocationResult, ClientFault> {
        match self.0.invoke(invocation).await? {
            Invoked::Refused(result) => Ok(result),
            Invoked::Pending(pending) => pending.result().await,
        }
    }

    /// How often a request was executed.
    pub(super) async fn attempts(&self, request: &RequestId) -> Result<Option<u32>, ClientFault> {
        let found = self.0.status(request, None).await?;
        Ok(found.first().and_then(|it| it.attempts))
    }
}

/// Whoever looks at the chains of the demo.
pub(super) struct Onlooker(pub(super) Client<NatsClient, RedisStore>);

impl Onlooker {
    /// The chain as it stands, as `puruto tree` draws it.
    pub(super) async fn tree(&self, chain: &CorrelationId) -> Result<String, ClientFault> {
        self.0.tree(chain).await.map(|tree| drawn(&tree))
    }
}

/// The running whole; dropping it kills it and removes its folder.
pub(super) struct Stage {
    pub(super) players: Vec<Player>,
    pub(super) caller: Caller,
    pub(super) onlooker: Onlooker,
    servers: Pair,
    // Last: whoever writes there is gone before it.
    scratch: Scratch,
}

impl Stage {
    /// Starts everything in `scratch`, which holds the workers folder `cast` already, and waits
    /// until it serves.
    pub(super) async fn set(
        mut scratch: Scratch,
        cast: &Path,
        world: &World,
        places: &Places,
        say: &dyn Say,
    ) -> Result<Self, DemoFault> {
        let guard = Guard::new(env::current_exe()?);
        let launch = PairLaunch {
            data: scratch.path().join("data"),
            nats_port: PortChoice::Free,
            redis_port: PortChoice::Free,
            fsync: Fsync::EverySecond,
            guard: guard.clone(),
        };
        let servers = Pair::start(&launch, places, &world.chance, say).await?;
        let script = Script {
            folder: scratch.path(),
            cast,
            variables: variables(&servers),
            world,
            guard,
        };
        let (mut players, mut telemetry) = (Vec::new(), Vec::new());
        for name in WORKERS {
            let launch = script.launch(name)?;
            telemetry.push(launch.telemetry);
            let process = Member::start(&launch).await?;
            players.push(Player { name, process });
        }
        if !member::ready(&telemetry).await {
            scratch.keep();
            return Err(DemoFault::NotServing(scratch.path().to_owned()));
        }
        let gathered = script.gathered()?;
        Ok(Self {
            players,
            caller: script.caller(&gathered).await?,
            onlooker: script.onlooker(&gathered).await?,
            servers,
            scratch,
        })
    }

    /// Keeps the folder with its logs, and says where it is.
    pub(super) fn keep_logs(&mut self) -> &Path {
        self.scratch.keep();
        self.scratch.path()
    }

    /// Ends everything in good order.
    pub(super) async fn strike(mut self) -> Result<(), DemoFault> {
        let drains = self
            .players
            .iter_mut()
            .map(|it| it.process.stop(DRAIN_WITHIN));
        let drained = futures_util::future::join_all(drains).await;
        self.servers.stop().await?;
        drained.into_iter().collect::<io::Result<Vec<_>>>()?;
        Ok(())
    }
}

/// What leads to these servers, and at which pace.
fn variables(servers: &Pair) -> Vec<(String, String)> {
    let mut variables = launch::variables_of(servers);
    let short = SHORT_TIMES.map(|(name, value)| (name.to_owned(), value.to_owned()));
    variables.extend(short);
    variables.push(("PURUTO_LOG__FORMAT".to_owned(), "plain".to_owned()));
    variables
}

/// What every process of the stage goes by.
struct Script<'s> {
    folder: &'s Path,
    cast: &'s Path,
    variables: Vec<(String, String)>,
    world: &'s World,
    guard: Guard,
}

impl Script<'_> {
    fn launch(&self, name: &str) -> Result<Launch, DemoFault> {
        let inherited = self.world.environment.iter().map(|(name, _)| name);
        let ours = inherited.filter(|name| name.starts_with("PURUTO_"));
        Ok(Launch {
            role: Role::Worker,
            name: name.to_owned(),
            workers_dir: self.cast.to_owned(),
            // No configuration lies there.
            folder: Some(self.folder.to_owned()),
            telemetry: Port::free(&self.world.chance)?,
            arguments: Vec::new(),
            set: self.variables.clone(),
            unset: ours.map(ToOwned::to_owned).collect(),
            output: Output::File(self.folder.join(format!("{name}.log"))),
            guard: self.guard.clone(),
        })
    }

    fn gathered(&self) -> Result<Gathered, DemoFault> {
        Ok(gather(&Inputs {
            folder: self.folder,
            file: None,
            environment: &self.variables.iter().cloned().collect(),
            flags: &[],
        })?)
    }

    async fn caller(&self, gathered: &Gathered) -> Result<Caller, DemoFault> {
        let purutos = Fleet::load(self.cast).map_err(DemoFault::Workers)?;
        let client = connect(self.world, gathered, purutos.policies()).await;
        client
            .map(Caller)
            .map_err(|failure| DemoFault::Client(Box::new(failure)))
    }

    async fn onlooker(&self, gathered: &Gathered) -> Result<Onlooker, DemoFault> {
        let whole = connect_whole(self.world, gathered).await;
        whole
            .map(|whole| Onlooker(whole.client))
            .map_err(|failure| DemoFault::Client(Box::new(failure)))
    }
}
