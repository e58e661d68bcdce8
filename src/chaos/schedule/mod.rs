//! Which faults strike when: a pure function of the seed.
//!
//! Faults leave the end of a run alone, so that what must happen "once faults stop" can be seen.
//! No server is struck by two faults at once, and no worker either; everything else overlaps as
//! it comes.

mod draw;

use std::{num::NonZeroU16, time::Duration};

use serde::{Deserialize, Serialize};

use self::draw::Draw;
use super::draw::Delegation;
use crate::{clock::Chance, handler::crash::CrashPoint};

/// Between two faults, on average, of a fleet whose sessions live for [`ORDINARY_TTL`].
const GAP: Duration = Duration::from_secs(4);
/// The time to live for which the times here are written; shorter ones shorten them.
const ORDINARY_TTL: Duration = Duration::from_secs(15);

/// A place among the workers; whoever is started there after a kill has the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Place(pub u16);

/// One of the two servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The broker.
    Nats,
    /// The lease store.
    Redis,
}

/// What becomes of a worker's connections to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// They are reset, and new ones as well.
    Cut,
    /// They stay, and what is sent vanishes, both ways.
    HalfOpen,
    /// They stay, and what the worker sends vanishes; it still hears.
    Mute,
    /// Every piece of what is sent comes late.
    Slow,
}

/// A message that no client library would send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hostile {
    /// A header with a carriage return in its value.
    LoneReturn,
    /// A header that is no UTF-8.
    NoUtf8,
    /// A header line without a colon.
    NoColon,
    /// A body that is no JSON.
    Garbage,
}

/// What is done to the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// SIGKILL; another worker is started in its place when the fault ends.
    KillWorker {
        /// Who.
        place: Place,
    },
    /// SIGKILL; one that dies by itself at a joint of a delegation is started in its place at once,
    /// and another one when the fault ends.
    DieAt {
        /// Who.
        place: Place,
        /// Where in a walk.
        point: CrashPoint,
    },
    /// SIGKILL of whichever worker supervises the others at that moment.
    KillSupervisor,
    /// SIGKILL; a worker whose machine has another time of day is started in its place at once.
    WrongClock {
        /// Who.
        place: Place,
        /// Whether its clock is fast.
        fast: bool,
    },
    /// SIGSTOP, and SIGCONT when it ends.
    PauseWorker {
        /// Who.
        place: Place,
        /// Whether its session ends meanwhile.
        past_session: bool,
    },
    /// A worker cannot reach a server as it should.
    Partition {
        /// Who.
        place: Place,
        /// From one server, or from both.
        from: Option<Side>,
        /// How.
        trouble: Trouble,
    },
    /// SIGKILL of a server; it is started again on its data.
    KillServer {
        /// Which.
        server: Side,
    },
    /// SIGSTOP of a server, and SIGCONT.
    PauseServer {
        /// Which.
        server: Side,
    },
    /// FLUSHALL.
    EmptyRedis,
    /// A message that breaks whoever reads it.
    Hostile {
        /// Which.
        message: Hostile,
    },
}

impl Fault {
    /// A name for counting.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::KillWorker { .. } => "worker killed",
            Self::DieAt { .. } => "worker that dies at a joint",
            Self::KillSupervisor => "supervisor killed",
            Self::WrongClock { fast: true, .. } => "worker with a fast clock",
            Self::WrongClock { .. } => "worker with a slow clock",
            Self::PauseWorker {
                past_session: false,
                ..
            } => "worker paused",
            Self::PauseWorker { .. } => "worker paused past its session",
            Self::Partition { trouble, .. } => match trouble {
                Trouble::Cut => "worker cut off",
                Trouble::HalfOpen => "worker half open",
                Trouble::Mute => "worker mute",
                Trouble::Slow => "worker slow",
            },
            Self::KillServer { server } => match server {
                Side::Nats => "nats killed",
                Side::Redis => "redis killed",
            },
            Self::PauseServer { server } => match server {
                Side::Nats => "nats paused",
                Side::Redis => "redis paused",
            },
            Self::EmptyRedis => "redis emptied",
            Self::Hostile { .. } => "hostile message",
        }
    }

    /// What it must have for itself.
    fn subject(&self) -> Subject {
        match self {
            Self::KillWorker { place }
            | Self::DieAt { place, .. }
            | Self::WrongClock { place, .. }
            | Self::PauseWorker { place, .. }
            | Self::Partition { place, .. } => Subject::Worker(*place),
            // Any of them may be the supervisor.
            Self::KillSupervisor => Subject::AnyWorker,
            Self::KillServer { server } | Self::PauseServer { server } => Subject::Server(*server),
            Self::EmptyRedis => Subject::Server(Side::Redis),
            Self::Hostile { .. } => Subject::Server(Side::Nats),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Worker(Place),
    AnyWorker,
    Server(Side),
}

impl Subject {
    fn meets(self, other: Self) -> bool {
        match (self, other) {
            (Self::AnyWorker, Self::Worker(_) | Self::AnyWorker)
            | (Self::Worker(_), Self::AnyWorker) => true,
            _ => self == other,
        }
    }
}

/// A fault with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// When it begins, from the start of the run.
    pub at: Duration,
    /// How long it lasts; zero for what happens in a moment.
    pub lasts: Duration,
    /// What it is.
    pub fault: Fault,
}

impl Planned {
    fn until(&self) -> Duration {
        self.at + self.lasts
    }
}

/// What a schedule is made for.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// What it is drawn from.
    pub seed: u64,
    /// From the first fault to the end of the last.
    pub duration: Duration,
    /// How many workers there are.
    pub workers: NonZeroU16,
    /// How long their sessions live.
    pub session_ttl: Duration,
    /// Whether there are delegations, and so joints at which to die.
    pub delegation: Delegation,
}

/// The faults of a run, in the order of their beginnings.
#[must_use]
pub fn schedule(terms: &Terms) -> Vec<Planned> {
    let mut draw = Draw {
        chance: Chance::seeded(terms.seed),
        terms: *terms,
        pace: terms.session_ttl.div_duration_f64(ORDINARY_TTL).min(1.0),
    };
    let (mut planned, mut at) = (Vec::<Planned>::new(), Duration::ZERO);
    loop {
        at += draw.between(GAP.mul_f64(0.25), GAP.mul_f64(1.75));
        let fault = draw.fault();
        let next = Planned {
            at,
            lasts: draw.lasts(&fault),
            fault,
        };
        if at >= terms.duration {
            return planned;
        }
        // Room to come back before the next: who is killed again while it starts shows little.
        let meets = |it: &Planned| {
            it.until() + draw.scaled(Duration::from_secs(2)) > at
                && it.fault.subject().meets(fault.subject())
        };
        if next.until() <= terms.duration && !planned.iter().any(meets) {
            planned.push(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn of_seed(seed: u64) -> Vec<Planned> {
        schedule(&Terms {
            seed,
            duration: Duration::from_secs(1_800),
            workers: NonZeroU16::new(4).expect("not 0"),
            session_ttl: ORDINARY_TTL,
            delegation: Delegation::On,
        })
    }

    #[test]
    fn a_seed_fixes_the_schedule_and_another_one_gives_another() {
        assert_eq!(of_seed(7), of_seed(7));
        assert_ne!(of_seed(7), of_seed(8));
    }

    #[test]
    fn half_an_hour_holds_every_kind_and_ends_with_all_of_them_over() {
        let planned = of_seed(7);
        let kinds: BTreeSet<_> = planned.iter().map(|it| it.fault.kind()).collect();
        assert_eq!(kinds.len(), 17, "{kinds:?}");
        assert!(planned.len() > 150, "{}", planned.len());
        assert!(planned.iter().all(|it| it.until().as_secs() <= 1_800));
    }

    #[test]
    fn nobody_is_struck_while_struck() {
        let planned = of_seed(9);
        for (at, one) in planned.iter().enumerate() {
            for other in &planned[at + 1..] {
                let apart = one.until() <= other.at;
                let meets = one.fault.subject().meets(other.fault.subject());
                assert!(apart || !meets, "{one:?} and {other:?}");
            }
        }
    }
}
