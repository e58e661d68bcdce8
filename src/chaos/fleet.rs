//! The fleet that is struck: servers, workers, and a line of its own from each worker to each
//! server.

use std::{collections::BTreeMap, io, path::PathBuf, process::ExitStatus, time::Duration};

use super::{
    cast::KEY_VARIABLE,
    history::WorkerId,
    proxy::Proxy,
    run::ChaosFault,
    schedule::{Place, Side, Trouble},
};
use crate::{
    clock::Chance,
    dev::{
        error::DevError,
        guard::Guard,
        launch::{Launch, Output, Role},
        member::{self, Member},
        pair::Pair,
        port::Port,
    },
    telemetry::names::SLOTS_FREE,
};

/// How long a worker may take to drain at the end.
const DRAIN_WITHIN: Duration = Duration::from_secs(20);

/// What every worker is started with.
#[derive(Clone, Debug)]
pub(super) struct Equipment {
    pub(super) folder: PathBuf,
    pub(super) workers_dir: PathBuf,
    pub(super) variables: Vec<(String, String)>,
    pub(super) unset: Vec<String>,
    pub(super) secret: String,
    pub(super) guard: Guard,
    pub(super) chance: Chance,
}

/// One place among the workers.
#[derive(Debug)]
struct Seat {
    nats: Proxy,
    redis: Proxy,
    /// Where its workers, one after the other, show their metrics.
    telemetry: Port,
    /// How many workers were started here.
    started: u32,
    occupant: Option<(WorkerId, Member)>,
}

/// The fleet; dropping it kills it.
#[derive(Debug)]
pub(super) struct Fleet {
    equipment: Equipment,
    seats: BTreeMap<Place, Seat>,
    /// Every worker that was ever started, and where it logs.
    logs: Vec<(WorkerId, PathBuf)>,
    // Last: workers are gone before their servers.
    pub(super) servers: Pair,
}

impl Fleet {
    /// Starts this many workers on `servers` and waits until all of them serve.
    pub(super) async fn start(
        equipment: Equipment,
        servers: Pair,
        workers: u16,
    ) -> Result<Self, ChaosFault> {
        let mut fleet = Self {
            equipment,
            seats: BTreeMap::new(),
            logs: Vec::new(),
            servers,
        };
        for place in (0..workers).map(Place) {
            let seat = fleet.seat().await?;
            fleet.seats.insert(place, seat);
            fleet.launch(place).await?;
        }
        let telemetry: Vec<_> = fleet.seats.values().map(|it| it.telemetry).collect();
        if member::ready(&telemetry).await {
            return Ok(fleet);
        }
        Err(ChaosFault::NotServing(fleet.equipment.folder))
    }

    async fn seat(&self) -> Result<Seat, ChaosFault> {
        let address = |port: Port| port.address().into();
        Ok(Seat {
            nats: Proxy::start(address(self.servers.nats.port())).await?,
            redis: Proxy::start(address(self.servers.redis.port())).await?,
            telemetry: Port::free(&self.equipment.chance)?,
            started: 0,
            occupant: None,
        })
    }

    /// Starts a worker at `place`, where none is.
    pub(super) async fn launch(&mut self, place: Place) -> Result<(), ChaosFault> {
        self.launch_with(place, &[]).await
    }

    /// The same, with more variables.
    pub(super) async fn launch_with(
        &mut self,
        place: Place,
        variables: &[(&str, &str)],
    ) -> Result<(), ChaosFault> {
        let Some(seat) = self.seats.get_mut(&place) else {
            return Ok(());
        };
        seat.started += 1;
        let name = format!("w{}-{}", place.0, seat.started);
        let log = self.equipment.folder.join(format!("{name}.log"));
        let mut launch = self.equipment.launch(&name, seat, log.clone());
        let more = variables.iter();
        let more = more.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        launch.set.extend(more);
        let started = Member::start(&launch).await;
        let worker = WorkerId::new(name);
        self.logs.push((worker.clone(), log));
        seat.occupant = Some((worker, started?));
        Ok(())
    }

    /// Who sits at `place`.
    pub(super) fn occupant(&self, place: Place) -> Option<&WorkerId> {
        let (worker, _) = self.seats.get(&place)?.occupant.as_ref()?;
        Some(worker)
    }

    /// Ends whoever sits at `place`, as a crash would.
    pub(super) async fn kill(&mut self, place: Place) -> io::Result<()> {
        self.end(place).await.map(drop)
    }

    /// The same; who it was, and how it ended, which it may have done before.
    pub(super) async fn end(&mut self, place: Place) -> io::Result<Option<(WorkerId, ExitStatus)>> {
        let occupant = self.seats.get_mut(&place).and_then(|it| it.occupant.take());
        match occupant {
            Some((worker, mut process)) => Ok(Some((worker, process.kill().await?))),
            None => Ok(None),
        }
    }

    /// Stops whoever sits at `place` from running.
    pub(super) fn pause(&self, place: Place) -> io::Result<()> {
        self.process(place).map_or(Ok(()), Member::pause)
    }

    /// Lets them run again.
    pub(super) fn resume(&self, place: Place) -> io::Result<()> {
        self.process(place).map_or(Ok(()), Member::resume)
    }

    fn process(&self, place: Place) -> Option<&Member> {
        let (_, process) = self.seats.get(&place)?.occupant.as_ref()?;
        Some(process)
    }

    /// Where the supervisor of this moment sits; `None` while there is none, or it is silent.
    pub(super) async fn supervisor(&self) -> Option<Place> {
        for (place, seat) in &self.seats {
            let Some((_, process)) = &seat.occupant else {
                continue;
            };
            let metrics = process.metrics().await.unwrap_or_default();
            if metrics.lines().any(|line| line == "puruto_supervisor 1") {
                return Some(*place);
            }
        }
        None
    }

    /// How many run slots of `target` are free, in each worker that tells.
    pub(super) async fn free_slots(&self, target: &str) -> Vec<usize> {
        let name = format!("{}{{target=\"{target}\"}} ", SLOTS_FREE.name);
        let mut free = Vec::new();
        for seat in self.seats.values() {
            let Some((_, process)) = &seat.occupant else {
                continue;
            };
            // One that could not start while its servers were away has ended.
            let metrics = process.metrics().await.unwrap_or_default();
            let told = metrics.lines().find_map(|line| line.strip_prefix(&name));
            free.extend(told.and_then(|it| it.parse::<usize>().ok()));
        }
        free
    }

    /// How many places there are.
    pub(super) fn places(&self) -> usize {
        self.seats.len()
    }

    /// From now on there is this trouble between a worker and a server, or both.
    pub(super) fn trouble(&self, place: Place, from: Option<Side>, trouble: Option<Trouble>) {
        let Some(seat) = self.seats.get(&place) else {
            return;
        };
        if from != Some(Side::Redis) {
            seat.nats.set(trouble);
        }
        if from != Some(Side::Nats) {
            seat.redis.set(trouble);
        }
    }

    /// Lets everything end in good order; where each worker logged.
    pub(super) async fn stop(mut self) -> Result<Vec<(WorkerId, PathBuf)>, DevError> {
        let occupants = self.seats.values_mut().filter_map(|it| it.occupant.take());
        let drains = occupants.map(|(_, mut process)| async move {
            // One that had to be killed has told its story all the same.
            drop(process.stop(DRAIN_WITHIN).await);
        });
        futures_util::future::join_all(drains).await;
        self.servers.stop().await?;
        Ok(self.logs)
    }
}

impl Equipment {
    fn launch(&self, name: &str, seat: &Seat, log: PathBuf) -> Launch {
        let mut set = self.variables.clone();
        let own = [
            (
                "PURUTO_NATS__URL",
                format!("nats://{}", seat.nats.address()),
            ),
            (
                "PURUTO_REDIS__URL",
                format!("redis://{}", seat.redis.address()),
            ),
            (KEY_VARIABLE, self.secret.clone()),
        ];
        set.extend(own.map(|(name, value)| (name.to_owned(), value)));
        Launch {
            role: Role::Worker,
            name: name.to_owned(),
            workers_dir: self.workers_dir.clone(),
            folder: Some(self.folder.clone()),
            telemetry: seat.telemetry,
            arguments: Vec::new(),
            set,
            unset: self.unset.clone(),
            output: Output::File(log),
            guard: self.guard.clone(),
        }
    }
}
