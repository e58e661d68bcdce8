//! The breaker's states and what moves it from one to the next. Pure: the time is told.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

use super::window::Window;

/// When a breaker opens, for how long, and what closes it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerRules {
    /// Over how long attempts are counted.
    pub window: Duration,
    /// So many attempts must have finished within it before it can open.
    pub finished_min: u32,
    /// It opens when more than this share of them failed, in percent.
    pub failed_percent: u32,
    /// How long it stays open.
    pub open_for: Duration,
    /// How many attempts are let through after that.
    pub probes: u32,
    /// So many of them that succeed close it, and as many failures open it again. More than half of
    /// the probes, so that they always decide.
    pub majority: u32,
    /// A probe that has not ended by then has failed.
    pub probe_lease: Duration,
}

impl Default for BreakerRules {
    /// Those of the Agent Runtime Specification, section 3.3.
    fn default() -> Self {
        Self {
            window: Duration::from_secs(10),
            finished_min: 10,
            failed_percent: 50,
            open_for: Duration::from_secs(10),
            probes: 5,
            majority: 3,
            probe_lease: Duration::from_secs(120),
        }
    }
}

/// Where a breaker stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// Every attempt passes.
    Closed,
    /// None does.
    Open,
    /// Some do, to see whether the server is well again.
    HalfOpen,
}

impl BreakerState {
    /// The gauge's reading: closed 0, open 1, half-open 2.
    #[must_use]
    pub const fn reading(self) -> i64 {
        match self {
            Self::Closed => 0,
            Self::Open => 1,
            Self::HalfOpen => 2,
        }
    }
}

/// How an attempt that was let through ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The server is well.
    Success,
    /// It is not.
    Failure,
    /// This attempt says nothing about it.
    Neutral,
}

/// Leave to make one attempt, in one life of the breaker: what ends after the state has changed
/// counts for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pass {
    generation: u64,
    probe: Option<u64>,
}

/// Why an attempt may not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CircuitOpen {
    /// When it is worth asking again; a breaker whose probes are all out says when the first of
    /// them must have ended.
    pub(super) until: Instant,
}

/// What a step did to the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It opened; so many percent of the attempts had failed.
    Opened {
        /// Of those that finished within the window, or of the probes.
        failed_percent: u32,
    },
    /// It lets some through to see.
    HalfOpened,
    /// It closed.
    Closed,
}

#[derive(Debug)]
enum State {
    Closed(Box<Window>),
    Open { until: Instant },
    HalfOpen(Probes),
}

/// The attempts of a half-open breaker. Those out and those that counted are never more than the
/// rules allow.
#[derive(Debug, Default)]
struct Probes {
    /// Those out, each with the end of its lease.
    out: BTreeMap<u64, Instant>,
    next: u64,
    succeeded: u32,
    failed: u32,
}

#[derive(Debug)]
pub(super) struct Machine {
    rules: BreakerRules,
    generation: u64,
    state: State,
}

impl Machine {
    pub(super) fn new(rules: BreakerRules, now: Instant) -> Self {
        let state = State::Closed(Box::new(Window::new(rules.window, now)));
        Self {
            rules,
            generation: 0,
            state,
        }
    }

    pub(super) const fn state(&self) -> BreakerState {
        match self.state {
            State::Closed(_) => BreakerState::Closed,
            State::Open { .. } => BreakerState::Open,
            State::HalfOpen(_) => BreakerState::HalfOpen,
        }
    }

    /// Asks for leave to make an attempt. A change is told whether leave is given or not.
    pub(super) fn admit(&mut self, now: Instant) -> (Result<Pass, CircuitOpen>, Option<Change>) {
        let change = self.pass_time(now);
        let probe = match &mut self.state {
            State::Closed(_) => None,
            State::Open { until } => return (Err(CircuitOpen { until: *until }), change),
            State::HalfOpen(probes) => match probes.admit(&self.rules, now) {
                Ok(number) => Some(number),
                Err(refused) => return (Err(refused), change),
            },
        };
        let pass = Pass {
            generation: self.generation,
            probe,
        };
        (Ok(pass), change)
    }

    /// Takes note of how an attempt ended.
    pub(super) fn ended(&mut self, pass: Pass, ended: Ended, now: Instant) -> Option<Change> {
        let passed = self.pass_time(now);
        if pass.generation != self.generation {
            return passed;
        }
        match (&mut self.state, pass.probe, ended) {
            (State::Closed(window), _, Ended::Success) => window.count(false, now),
            (State::Closed(window), _, Ended::Failure) => window.count(true, now),
            (State::HalfOpen(probes), Some(number), ended) => probes.ended(number, ended),
            // Nothing is let through while open, and a neutral end says nothing.
            (State::Open { .. } | State::HalfOpen(_), _, _)
            | (State::Closed(_), _, Ended::Neutral) => {}
        }
        self.decide(now).or(passed)
    }

    /// What happens by itself: an open breaker becomes half-open, a lease ends.
    fn pass_time(&mut self, now: Instant) -> Option<Change> {
        match &mut self.state {
            State::Open { until } if *until <= now => {
                self.enter(State::HalfOpen(Probes::default()));
                Some(Change::HalfOpened)
            }
            State::HalfOpen(probes) => {
                probes.expire(now);
                self.decide(now)
            }
            State::Open { .. } | State::Closed(_) => None,
        }
    }

    fn decide(&mut self, now: Instant) -> Option<Change> {
        let rules = self.rules;
        match &self.state {
            State::Closed(window) => {
                let seen = window.seen(now);
                let failed = u64::from(seen.failed) * 100;
                let tolerated = u64::from(seen.finished) * u64::from(rules.failed_percent);
                let enough = seen.finished >= rules.finished_min;
                (enough && failed > tolerated).then(|| self.open(seen.failed, seen.finished, now))
            }
            State::HalfOpen(probes) if probes.succeeded >= rules.majority => {
                self.enter(State::Closed(Box::new(Window::new(rules.window, now))));
                Some(Change::Closed)
            }
            State::HalfOpen(probes) if probes.failed >= rules.majority => {
                let (failed, ended) = (probes.failed, probes.failed + probes.succeeded);
                Some(self.open(failed, ended, now))
            }
            State::HalfOpen(_) | State::Open { .. } => None,
        }
    }

    fn open(&mut self, failed: u32, finished: u32, now: Instant) -> Change {
        self.enter(State::Open {
            until: now + self.rules.open_for,
        });
        let failed_percent = failed.saturating_mul(100) / finished.max(1);
        Change::Opened { failed_percent }
    }

    fn enter(&mut self, state: State) {
        self.generation += 1;
        self.state = state;
    }
}

#[cfg(test)]
impl Machine {
    /// The probes of this half-open breaker that are out or have counted.
    pub(super) fn probes(&self) -> u32 {
        match &self.state {
            State::HalfOpen(probes) => {
                u32::try_from(probes.out.len()).unwrap() + probes.succeeded + probes.failed
            }
            State::Open { .. } | State::Closed(_) => 0,
        }
    }
}

impl Probes {
    fn admit(&mut self, rules: &BreakerRules, now: Instant) -> Result<u64, CircuitOpen> {
        let out = u32::try_from(self.out.len()).unwrap_or(u32::MAX);
        if out.saturating_add(self.succeeded + self.failed) >= rules.probes {
            let first = self.out.values().min().copied();
            return Err(CircuitOpen {
                until: first.unwrap_or(now),
            });
        }
        let number = self.next;
        self.next += 1;
        self.out.insert(number, now + rules.probe_lease);
        Ok(number)
    }

    /// A probe whose lease has ended has been counted and ends no second time.
    fn ended(&mut self, number: u64, ended: Ended) {
        if self.out.remove(&number).is_none() {
            return;
        }
        match ended {
            Ended::Success => self.succeeded += 1,
            Ended::Failure => self.failed += 1,
            // Its place is free for another.
            Ended::Neutral => {}
        }
    }

    fn expire(&mut self, now: Instant) {
        let before = self.out.len();
        self.out.retain(|_, lease| *lease > now);
        let expired = u32::try_from(before - self.out.len()).unwrap_or(u32::MAX);
        self.failed = self.failed.saturating_add(expired);
    }
}
