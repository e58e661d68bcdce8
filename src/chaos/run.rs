//! One run, from an empty folder to a verdict.

use std::{
    fs::{self, File},
    io::{self, BufWriter},
    num::NonZeroU16,
    path::PathBuf,
    time::Duration,
};

use super::{
    cast,
    checker::{self, Bounds, Verdict},
    desk::{Desk, DeskFault},
    draw::{Delegation, Draw},
    ending,
    errand::{CHILDREN_MAX, DESCENDANTS_MAX, HOPS_MAX},
    fleet::{Equipment, Fleet},
    history::{self, Event},
    load, logs,
    model::Model,
    probe,
    recorder::Recorder,
    schedule::{self, schedule},
    strike,
};
use crate::{
    clock::{Chance, Clock},
    dev::{
        error::DevError,
        find::Places,
        guard::Guard,
        pair::{Pair, PairLaunch},
        port::PortChoice,
        redis::Fsync,
        say::Say,
    },
};

/// How soon a fleet finds out that something is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As a fleet does that nobody configured.
    Ordinary,
    /// Several times sooner, for a run of half a minute.
    Quick,
}

/// How soon a parent goes on once its children have ended: as soon as it has a slot.
const WAKES_WITHIN: Duration = Duration::from_secs(10);
/// How soon a delegated request ends that nobody wants any more.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// Of what the fleet may do for one caller's request.
const BOUNDS: Bounds = Bounds {
    children: CHILDREN_MAX,
    descendants: DESCENDANTS_MAX,
    depth: HOPS_MAX as usize,
    bytes: 1024 * 1024,
};

/// What a quick fleet is configured with.
const QUICK: [(&str, &str); 6] = [
    ("PURUTO_REDIS__SESSION_TTL", "2s"),
    ("PURUTO_REDIS__SESSION_RENEW", "500ms"),
    ("PURUTO_REDIS__RESPONSE_TIMEOUT", "450ms"),
    ("PURUTO_REDIS__SESSION_MARGIN", "500ms"),
    ("PURUTO_NATS__ACK_WAIT", "1700ms"),
    ("PURUTO_WORKER__PROGRESS_INTERVAL", "500ms"),
];

impl Pace {
    /// How long a session lives.
    const fn session_ttl(self) -> Duration {
        match self {
            Self::Ordinary => crate::store::SESSION_TTL,
            Self::Quick => Duration::from_secs(2),
        }
    }

    /// How long most requests may take.
    const fn timeout(self) -> Duration {
        match self {
            Self::Ordinary => Duration::from_secs(60),
            Self::Quick => Duration::from_secs(20),
        }
    }

    fn variables(self) -> Vec<(String, String)> {
        let times: &[(&str, &str)] = match self {
            Self::Ordinary => &[],
            Self::Quick => &QUICK,
        };
        let told = [
            ("PURUTO_LOG__FORMAT", "json"),
            ("PURUTO_LOG__FILTER", logs::FILTER),
        ];
        let bounds = [
            ("PURUTO_DELEGATION__MAX_CHILDREN", CHILDREN_MAX),
            ("PURUTO_DELEGATION__MAX_DESCENDANTS", DESCENDANTS_MAX),
        ];
        let all = times.iter().copied().chain(told);
        let all = all.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let bounds = bounds.map(|(name, value)| (name.to_owned(), value.to_string()));
        all.chain(bounds).collect()
    }

    /// The effects of a fault are over by then: the session and, after it, the broker's wait.
    fn linger(self) -> Duration {
        3 * self.session_ttl() + Duration::from_secs(5)
    }

    fn terms(self) -> checker::Terms {
        checker::Terms {
            slack: Duration::from_secs(1),
            grace: self.linger(),
            linger: self.linger(),
            attempts_max: 5,
            wakes_within: WAKES_WITHIN,
            ends_within: ENDS_WITHIN,
            bounds: BOUNDS,
        }
    }
}

/// What a run is.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What faults and requests are drawn from.
    pub seed: u64,
    /// How long faults strike and requests come.
    pub duration: Duration,
    /// How many workers there are.
    pub workers: NonZeroU16,
    /// Requests a second.
    pub rate: f64,
    /// How soon the fleet finds out.
    pub pace: Pace,
    /// Whether some of the requests ask others.
    pub delegation: Delegation,
    /// An empty folder, for data, logs and the history; it stays.
    pub folder: PathBuf,
    /// Where the servers' programs are.
    pub places: Places,
    /// Lets no process outlive the run.
    pub guard: Guard,
    /// Variables of ours that the workers do not get.
    pub unset: Vec<String>,
    /// The time of day.
    pub clock: Clock,
    /// Names, ports and nonces; not the faults and the requests.
    pub chance: Chance,
}

/// What a run came to.
#[derive(Debug)]
pub struct Outcome {
    /// What its history proves.
    pub verdict: Verdict,
    /// Where that history is.
    pub history: PathBuf,
}

/// Why a run did not come to a verdict.
#[derive(Debug, thiserror::Error)]
pub enum ChaosFault {
    /// A server or a worker cannot be started.
    #[error(transparent)]
    Dev(#[from] DevError),
    /// The system refused something.
    #[error("the system refused: {0}")]
    Io(#[from] io::Error),
    /// The workers do not serve before anything is done to them.
    #[error("the workers do not serve; their logs are in {}", .0.display())]
    NotServing(PathBuf),
    /// The run's own connections cannot be made.
    #[error("no connection to the run's own servers: {0}")]
    Connection(String),
}

impl From<DeskFault> for ChaosFault {
    fn from(fault: DeskFault) -> Self {
        Self::Connection(fault.to_string())
    }
}

impl Settings {
    fn schedule(&self) -> Vec<schedule::Planned> {
        schedule(&schedule::Terms {
            seed: self.seed,
            duration: self.duration,
            workers: self.workers,
            session_ttl: self.pace.session_ttl(),
            delegation: self.delegation,
        })
    }

    async fn servers(&self, say: &dyn Say) -> Result<Pair, DevError> {
        let launch = PairLaunch {
            data: self.folder.join("data"),
            nats_port: PortChoice::Free,
            redis_port: PortChoice::Free,
            // A kill is to cost nothing: what a fleet forgets that was promised is its own fault.
            fsync: Fsync::Never,
            guard: self.guard.clone(),
        };
        Pair::start(&launch, &self.places, &self.chance, say).await
    }

    fn equipment(&self) -> Equipment {
        Equipment {
            folder: self.folder.clone(),
            workers_dir: self.folder.join("workers"),
            variables: self.pace.variables(),
            unset: self.unset.clone(),
            secret: format!("chaos-secret-{:032x}", self.chance.bits128()),
            guard: self.guard.clone(),
            chance: self.chance.clone(),
        }
    }
}

/// Runs, and judges.
///
/// # Errors
/// There is no verdict: something of the run itself did not work. What the fleet does wrong is
/// never an error here.
pub async fn run(settings: &Settings, say: &dyn Say) -> Result<Outcome, ChaosFault> {
    let recorder = Recorder::new(settings.clock.now());
    let model = Model::start(recorder.clone()).await?;
    let equipment = settings.equipment();
    let secret = equipment.secret.clone();
    cast::assemble(&equipment.workers_dir, &model.base_url())?;
    let servers = settings.servers(say).await?;
    let desk = Desk::open(
        &servers,
        recorder.clone(),
        settings.clock.clone(),
        &settings.chance,
    );
    let desk = desk.await?;
    let mut fleet = Fleet::start(equipment, servers, settings.workers.get()).await?;
    let nats = fleet.servers.nats.port();
    let planned = settings.schedule();
    say.say(&format!("{} faults are planned", planned.len()));
    let asks = Draw::new(settings.seed, settings.pace.timeout(), settings.delegation);
    let storm = async {
        let load = load::run(&desk, asks, settings.rate, settings.duration);
        let struck = strike::run(&mut fleet, &planned, &recorder);
        let ((), struck) = tokio::join!(load, struck);
        struck?;
        recorder.note(Event::Calm);
        say.say("no more faults: waiting until nothing is owed");
        let within = settings.pace.timeout() + 2 * settings.pace.linger();
        ending::quiet(&desk, nats, within).await;
        if settings.delegation == Delegation::On {
            say.say("whether those who wait hold anything");
            probe::run(&desk, &fleet).await;
            ending::quiet(&desk, nats, within).await;
        }
        ending::read(&desk, nats, &secret).await?;
        Ok::<_, ChaosFault>(())
    };
    tokio::select! {
        ended = storm => ended?,
        () = desk.listen() => {}
    }
    drop(desk);
    for (worker, log) in fleet.stop().await? {
        logs::read(&worker, &log, &secret, &recorder)?;
    }
    judge(settings, &recorder)
}

fn judge(settings: &Settings, recorder: &Recorder) -> Result<Outcome, ChaosFault> {
    let entries = recorder.history();
    let history = settings.folder.join("history.jsonl");
    history::write(&entries, BufWriter::new(File::create(&history)?))?;
    Ok(Outcome {
        verdict: checker::check(&entries, &settings.pace.terms()),
        history: fs::canonicalize(history)?,
    })
}
