//! The breaker's states and what moves it from one to the next. Pure: the time is told.

use std::time::Duration;

use tokio::time::Instant;

use super::{Generation, Refusal, probes::Probes, window::Window};

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
pub struct Pass {
    generation: Generation,
    probe: Option<u64>,
}

impl Pass {
    /// Leave that was given in this life and is no probe.
    #[must_use]
    pub const fn of(generation: Generation) -> Self {
        let probe = None;
        Self { generation, probe }
    }

    /// The life in which it was given.
    #[must_use]
    pub const fn generation(self) -> Generation {
        self.generation
    }
}

/// Why an attempt may not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CircuitOpen {
    /// When it is worth asking again; a breaker whose probes are all out says when the first of
    /// them must have ended.
    pub until: Instant,
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
    Open {
        until: Instant,
    },
    HalfOpen(Probes),
    /// Somebody who knows more says where it stands, and is to be asked again after `until`.
    Adopted {
        state: BreakerState,
        until: Instant,
    },
}

/// A breaker, told the time and what happens.
#[derive(Debug)]
pub struct Machine {
    rules: BreakerRules,
    generation: Generation,
    state: State,
}

impl Machine {
    /// A closed breaker.
    #[must_use]
    pub fn new(rules: BreakerRules, now: Instant) -> Self {
        let state = State::Closed(Box::new(Window::new(rules.window, now)));
        Self {
            rules,
            generation: Generation(0),
            state,
        }
    }

    /// Goes by these rules from now on.
    pub const fn set_rules(&mut self, rules: BreakerRules) {
        self.rules = rules;
    }

    /// Where it stands; time passes only when it is asked for leave or told an end.
    #[must_use]
    pub const fn state(&self) -> BreakerState {
        match self.state {
            State::Closed(_) => BreakerState::Closed,
            State::Open { .. } => BreakerState::Open,
            State::HalfOpen(_) => BreakerState::HalfOpen,
            State::Adopted { state, .. } => state,
        }
    }

    /// Its life.
    #[must_use]
    pub const fn generation(&self) -> Generation {
        self.generation
    }

    /// Asks for leave to make an attempt. A change is told whether leave is given or not.
    pub fn admit(&mut self, now: Instant) -> (Result<Pass, CircuitOpen>, Option<Change>) {
        let change = self.pass_time(now);
        let probe = match &mut self.state {
            State::Closed(_) => None,
            State::Open { until } => return (Err(CircuitOpen { until: *until }), change),
            State::Adopted { until, .. } if *until > now => {
                return (Err(CircuitOpen { until: *until }), change);
            }
            // Who knows more decides.
            State::Adopted { .. } => None,
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
    pub fn ended(&mut self, pass: Pass, ended: Ended, now: Instant) -> Option<Change> {
        let passed = self.pass_time(now);
        if pass.generation != self.generation {
            return passed;
        }
        match (&mut self.state, pass.probe, ended) {
            (State::Closed(window), _, Ended::Success) => window.count(false, now),
            (State::Closed(window), _, Ended::Failure) => window.count(true, now),
            (State::HalfOpen(probes), Some(number), ended) => probes.ended(number, ended),
            // Nothing is let through while open, who knows more counts for itself, and a neutral end
            // says nothing.
            (State::Open { .. } | State::HalfOpen(_) | State::Adopted { .. }, _, _)
            | (State::Closed(_), _, Ended::Neutral) => {}
        }
        self.decide(now).or(passed)
    }

    /// Somebody who knows more lets calls through, in this state. One who says that it is closed
    /// ends what was adopted, and nothing that this breaker found out for itself.
    pub fn adopt(&mut self, state: BreakerState, now: Instant) -> Option<Change> {
        match (&self.state, state) {
            (State::Adopted { .. }, BreakerState::Closed) => {
                self.enter(State::Closed(Box::new(Window::new(self.rules.window, now))));
                Some(Change::Closed)
            }
            (_, BreakerState::HalfOpen) => self.adopt_until(state, now, Change::HalfOpened),
            // Who lets calls through is not open.
            (_, BreakerState::Closed | BreakerState::Open) => None,
        }
    }

    /// Somebody who knows more lets no call through.
    pub fn adopt_refusal(&mut self, refusal: Refusal, now: Instant) -> Option<Change> {
        let failed_percent = refusal.failed_percent;
        let change = match refusal.state {
            BreakerState::HalfOpen => Change::HalfOpened,
            BreakerState::Open | BreakerState::Closed => Change::Opened { failed_percent },
        };
        self.adopt_until(refusal.state, now + refusal.retry_in, change)
    }

    /// Who knew more cannot be asked any more: what was adopted is found out with probes of its
    /// own. Tells whether anything was.
    pub fn let_go(&mut self) -> (bool, Option<Change>) {
        let State::Adopted { state, .. } = self.state else {
            return (false, None);
        };
        self.enter(State::HalfOpen(Probes::default()));
        (
            true,
            (state == BreakerState::Open).then_some(Change::HalfOpened),
        )
    }

    fn adopt_until(
        &mut self,
        state: BreakerState,
        until: Instant,
        change: Change,
    ) -> Option<Change> {
        let before = self.state();
        match &mut self.state {
            State::Adopted {
                state: adopted,
                until: ends,
            } if *adopted == state => *ends = until,
            State::Adopted { .. } | State::Closed(_) | State::Open { .. } | State::HalfOpen(_) => {
                self.enter(State::Adopted { state, until });
            }
        }
        (before != state).then_some(change)
    }

    /// Why no call is let through as it stands, if none is.
    pub(super) fn refusal(&self) -> Option<CircuitOpen> {
        match &self.state {
            State::Open { until } | State::Adopted { until, .. } => {
                Some(CircuitOpen { until: *until })
            }
            State::HalfOpen(probes) => probes.refusal(&self.rules),
            State::Closed(_) => None,
        }
    }

    /// What happens by itself: an open breaker becomes half-open, a lease ends.
    pub(super) fn pass_time(&mut self, now: Instant) -> Option<Change> {
        match &mut self.state {
            State::Open { until } if *until <= now => {
                self.enter(State::HalfOpen(Probes::default()));
                Some(Change::HalfOpened)
            }
            State::HalfOpen(probes) => {
                probes.expire(now);
                self.decide(now)
            }
            State::Open { .. } | State::Closed(_) | State::Adopted { .. } => None,
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
            State::HalfOpen(_) | State::Open { .. } | State::Adopted { .. } => None,
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
        self.generation.0 += 1;
        self.state = state;
    }
}

#[cfg(test)]
impl Machine {
    /// The probes of this half-open breaker that are out or have counted.
    pub(super) fn probes(&self) -> u32 {
        match &self.state {
            State::HalfOpen(probes) => probes.all(),
            State::Open { .. } | State::Closed(_) | State::Adopted { .. } => 0,
        }
    }
}
