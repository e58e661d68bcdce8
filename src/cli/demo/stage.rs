//! Where the demo plays: servers, worker processes and a caller of its own, all fresh.
//!
//! Owns them and their folder. Nothing that is configured or running elsewhere has a part in it.

use std::{io, path::Path, time::Duration};

use super::{DemoFault, scratch::Scratch};
use crate::{
    cli::session::{FleetClient, World, connect},
    client::{ClientFault, Invocation, Invoked},
    clock::Chance,
    config::{Environment, Gathered, Inputs, gather},
    contract::{InvocationResult, RequestId},
    dev::{
        find::Places,
        guard::Guard,
        pair::{Pair, PairLaunch},
        port::{Port, PortChoice},
        say::Say,
        worker::{self, WorkerLaunch, WorkerOutput, WorkerProcess},
    },
    puruto::Fleet,
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
const WORKERS: [&str; 2] = ["worker-1", "worker-2"];
/// How long the workers may take to drain; nothing runs any more by then.
const DRAIN_WITHIN: Duration = Duration::from_secs(5);

/// A worker process and what it is called.
#[derive(Debug)]
pub(super) struct Player {
    pub(super) name: &'static str,
    pub(super) process: WorkerProcess,
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

/// The running whole; dropping it kills it and removes its folder.
pub(super) struct Stage {
    pub(super) players: Vec<Player>,
    pub(super) caller: Caller,
    servers: Pair,
    // Last: whoever writes there is gone before it.
    scratch: Scratch,
}

impl Stage {
    /// Starts everything in `scratch`, which holds the workers folder already, and waits until it
    /// serves.
    pub(super) async fn set(
        mut scratch: Scratch,
        cast: &Path,
        world: &World,
        places: &Places,
        say: &dyn Say,
    ) -> Result<Self, DemoFault> {
        let guard = Guard::new(std::env::current_exe()?);
        let launch = PairLaunch {
            data: scratch.path().join("data"),
            nats_port: PortChoice::Free,
            redis_port: PortChoice::Free,
            guard: guard.clone(),
        };
        let servers = Pair::start(&launch, places, &world.chance, say).await?;
        let variables = variables(&servers);
        let launches = launches(
            &scratch,
            cast,
            &variables,
            (&world.environment, &guard),
            &world.chance,
        )?;
        let mut players = Vec::new();
        for (name, launch) in WORKERS.into_iter().zip(&launches) {
            let process = WorkerProcess::start(launch).await?;
            players.push(Player { name, process });
        }
        let telemetry: Vec<_> = launches.iter().map(|it| it.telemetry).collect();
        if !worker::ready(&telemetry).await {
            scratch.keep();
            return Err(DemoFault::NotServing(scratch.path().to_owned()));
        }
        let caller = caller(&scratch, cast, &variables, world).await?;
        Ok(Self {
            players,
            caller,
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
    let mut variables = worker::variables_of(servers);
    let short = SHORT_TIMES.map(|(name, value)| (name.to_owned(), value.to_owned()));
    variables.extend(short);
    variables.push(("PURUTO_LOG__FORMAT".to_owned(), "plain".to_owned()));
    variables
}

fn launches(
    scratch: &Scratch,
    cast: &Path,
    variables: &[(String, String)],
    (environment, guard): (&Environment, &Guard),
    chance: &Chance,
) -> Result<Vec<WorkerLaunch>, DemoFault> {
    let ours = |name: &&str| name.starts_with("PURUTO_");
    let inherited = environment.iter().map(|(name, _)| name);
    let unset: Vec<_> = inherited.filter(ours).map(ToOwned::to_owned).collect();
    WORKERS
        .into_iter()
        .map(|name| {
            Ok(WorkerLaunch {
                name: name.to_owned(),
                workers_dir: cast.to_owned(),
                folder: Some(scratch.path().to_owned()),
                telemetry: Port::free(chance)?,
                arguments: Vec::new(),
                set: variables.to_vec(),
                unset: unset.clone(),
                output: WorkerOutput::File(scratch.path().join(format!("{name}.log"))),
                guard: guard.clone(),
            })
        })
        .collect()
}

async fn caller(
    scratch: &Scratch,
    cast: &Path,
    variables: &[(String, String)],
    world: &World,
) -> Result<Caller, DemoFault> {
    let gathered: Gathered = gather(&Inputs {
        folder: scratch.path(),
        file: None,
        environment: &variables.iter().cloned().collect(),
        flags: &[],
    })?;
    let policies = Fleet::load(cast).map_err(DemoFault::Workers)?.policies();
    let client = connect(world, &gathered, policies).await;
    client
        .map(Caller)
        .map_err(|failure| DemoFault::Client(Box::new(failure)))
}
