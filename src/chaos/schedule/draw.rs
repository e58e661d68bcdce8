//! Draws faults, and how long each of them lasts.

use std::time::Duration;

use super::{Fault, Hostile, Place, Side, Terms, Trouble};
use crate::{chaos::draw::Delegation, clock::Chance, handler::crash::CrashPoint};

/// A pause past the session is longer than it by up to this share of it.
const PAST_TTL_SHARE: f64 = 0.6;

/// How long one that dies at a joint may take to get there.
const DIES_WITHIN: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(7));

/// The joints of a delegation, and of an agent's report.
const JOINTS: [CrashPoint; 10] = [
    CrashPoint::AfterPark,
    CrashPoint::AmidChildren,
    CrashPoint::BeforeLetGo,
    CrashPoint::AfterChildCommit,
    CrashPoint::BeforeWake,
    CrashPoint::AfterWake,
    CrashPoint::AfterResume,
    CrashPoint::AfterPlan,
    CrashPoint::InsideReport,
    CrashPoint::AfterCommit,
];

/// Faults as they come.
pub(super) struct Draw {
    pub(super) chance: Chance,
    pub(super) terms: Terms,
    /// How much shorter everything is than in a fleet with ordinary times.
    pub(super) pace: f64,
}

impl Draw {
    pub(super) fn scaled(&self, time: Duration) -> Duration {
        time.mul_f64(self.pace)
    }

    /// A time between two, scaled to the fleet's pace.
    pub(super) fn between(&self, least: Duration, most: Duration) -> Duration {
        let more = (most - least).mul_f64(self.chance.fraction());
        // Whole milliseconds, as the history has them.
        let millis = self.scaled(least + more).as_millis();
        Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }

    fn one_of<T: Copy>(&self, all: &[(u32, T)], otherwise: T) -> T {
        let sum: u32 = all.iter().map(|(weight, _)| weight).sum();
        let mut left = self.chance.fraction() * f64::from(sum);
        for (weight, it) in all {
            left -= f64::from(*weight);
            if left < 0.0 {
                return *it;
            }
        }
        otherwise
    }

    fn place(&self) -> Place {
        let drawn = self.chance.bits128() % u128::from(self.terms.workers.get());
        Place(u16::try_from(drawn).unwrap_or_default())
    }

    pub(super) fn fault(&mut self) -> Fault {
        let (place, server) = (self.place(), self.side());
        let pause = |past_session| Fault::PauseWorker {
            place,
            past_session,
        };
        let fast = self.one_of(&[(1, true), (1, false)], true);
        let wrong_clock = Fault::WrongClock { place, fast };
        let dies = match self.terms.delegation {
            Delegation::On => 16,
            Delegation::Off => 0,
        };
        let all = [
            (dies, self.die_at(place)),
            (20, Fault::KillWorker { place }),
            (4, wrong_clock),
            (8, Fault::KillSupervisor),
            (8, pause(false)),
            (10, pause(true)),
            (18, self.partition(place)),
            (8, Fault::KillServer { server }),
            (4, Fault::PauseServer { server }),
            (5, Fault::EmptyRedis),
            (15, self.hostile()),
        ];
        self.one_of(&all, Fault::KillWorker { place })
    }

    fn die_at(&self, place: Place) -> Fault {
        let joints = JOINTS.map(|it| (1, it));
        let point = self.one_of(&joints, CrashPoint::AfterPark);
        Fault::DieAt { place, point }
    }

    fn side(&self) -> Side {
        self.one_of(&[(1, Side::Nats), (1, Side::Redis)], Side::Nats)
    }

    fn partition(&self, place: Place) -> Fault {
        let (nats, redis) = (Some(Side::Nats), Some(Side::Redis));
        let troubles = [
            (3, Trouble::Cut),
            (3, Trouble::HalfOpen),
            (2, Trouble::Mute),
            (2, Trouble::Slow),
        ];
        Fault::Partition {
            place,
            from: self.one_of(&[(2, nats), (2, redis), (1, None)], None),
            trouble: self.one_of(&troubles, Trouble::Cut),
        }
    }

    fn hostile(&self) -> Fault {
        let messages = [
            (1, Hostile::LoneReturn),
            (1, Hostile::NoUtf8),
            (1, Hostile::NoColon),
            (1, Hostile::Garbage),
        ];
        let message = self.one_of(&messages, Hostile::Garbage);
        Fault::Hostile { message }
    }

    pub(super) fn lasts(&self, fault: &Fault) -> Duration {
        let seconds = Duration::from_secs;
        let ttl = self.terms.session_ttl;
        match fault {
            Fault::KillWorker { .. } | Fault::KillSupervisor => {
                self.between(seconds(1), seconds(6))
            }
            // A worker takes its time to start, however soon its fleet finds out.
            Fault::DieAt { .. } => {
                let (least, most) = DIES_WITHIN;
                least + (most - least).mul_f64(self.chance.fraction())
            }
            Fault::PauseWorker {
                past_session: false,
                ..
            } => self.between(Duration::from_millis(200), seconds(8)),
            Fault::PauseWorker { .. } => {
                ttl.mul_f64(1.0 + PAST_TTL_SHARE * (0.05 + self.chance.fraction()))
            }
            Fault::Partition { .. } => self.between(seconds(2), seconds(25)),
            Fault::KillServer { .. } => self.between(Duration::from_millis(500), seconds(8)),
            Fault::PauseServer { .. } => self.between(Duration::from_millis(500), seconds(10)),
            Fault::EmptyRedis | Fault::Hostile { .. } | Fault::WrongClock { .. } => Duration::ZERO,
        }
    }
}
