//! What a whole fleet knows of one server: the rules of its store's scripts, as a reference.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use tokio::time::Instant;

use super::{
    Admission, Ask, BreakerRules, BreakerState, Change, CircuitOpen, Ended, Generation, Machine,
    Meter, Outcome, Pass, PassId, Refusal, Standing,
};

/// When it is worth asking again while all probes are out: one of them may decide at any time.
const PROBES_DECIDE_WITHIN: Duration = Duration::from_secs(1);

/// One circuit that many processes share.
#[derive(Debug)]
pub struct FleetCircuit {
    machine: Machine,
    meter: Meter,
    failed_percent: u32,
    /// The probes that are out, under the names of their attempts.
    probes: HashMap<PassId, Pass>,
    told: HashSet<PassId>,
}

impl FleetCircuit {
    /// A closed circuit from whose limits nothing is taken.
    #[must_use]
    pub fn new(rules: BreakerRules, now: Instant) -> Self {
        Self {
            machine: Machine::new(rules, now),
            meter: Meter::default(),
            failed_percent: 0,
            probes: HashMap::new(),
            told: HashSet::new(),
        }
    }

    /// Asks for leave to make an attempt. The same attempt is answered alike as long as it is out.
    pub fn admit(&mut self, ask: &Ask, now: Instant) -> Admission {
        self.machine.set_rules(ask.rules);
        if self.is_probe(ask.pass) {
            return self.admitted();
        }
        let (leave, change) = self.machine.admit(now);
        self.note(change);
        let pass = match leave {
            Ok(pass) => pass,
            Err(refused) => return self.refused(refused, now),
        };
        let taken = self.meter.take(ask.pass, ask.limits, ask.tokens, now);
        if let Err(throttled) = taken {
            self.machine.ended(pass, Ended::Neutral, now);
            return Admission::Throttled(throttled);
        }
        if self.machine.state() == BreakerState::HalfOpen {
            self.probes.insert(ask.pass, pass);
        }
        self.admitted()
    }

    /// Takes note of how an attempt ended, once.
    pub fn report(&mut self, outcome: &Outcome, now: Instant) -> Admission {
        self.machine.set_rules(outcome.rules);
        if self.told.insert(outcome.pass) {
            self.meter.settle(outcome.pass, outcome.spent);
            if let Some(wish) = outcome.retry_after {
                self.meter.hold(wish, now);
            }
            let pass = self.probes.remove(&outcome.pass);
            let pass = pass.or_else(|| outcome.generation.map(Pass::of));
            let change = pass.and_then(|pass| self.machine.ended(pass, outcome.ended, now));
            self.note(change);
        }
        self.standing(now)
    }

    /// Where it stands, as an answer to nobody's ask.
    fn standing(&mut self, now: Instant) -> Admission {
        let change = self.machine.pass_time(now);
        self.note(change);
        if let Some(refused) = self.machine.refusal() {
            return self.refused(refused, now);
        }
        match self.meter.held(now) {
            Ok(()) => self.admitted(),
            Err(throttled) => Admission::Throttled(throttled),
        }
    }

    fn is_probe(&self, pass: PassId) -> bool {
        let probe = self.probes.get(&pass);
        probe.is_some_and(|it| it.generation() == self.machine.generation())
    }

    const fn admitted(&self) -> Admission {
        Admission::Admitted(Some(Standing {
            state: self.machine.state(),
            generation: self.machine.generation(),
        }))
    }

    fn refused(&self, refused: CircuitOpen, now: Instant) -> Admission {
        let state = self.machine.state();
        let retry_in = refused.until.saturating_duration_since(now);
        Admission::Refused(Refusal {
            state,
            retry_in: match state {
                BreakerState::HalfOpen => retry_in.min(PROBES_DECIDE_WITHIN),
                BreakerState::Open | BreakerState::Closed => retry_in,
            },
            failed_percent: self.failed_percent,
        })
    }

    fn note(&mut self, change: Option<Change>) {
        if let Some(Change::Opened { failed_percent }) = change {
            self.failed_percent = failed_percent;
        }
    }

    /// Its life.
    #[must_use]
    pub const fn generation(&self) -> Generation {
        self.machine.generation()
    }
}
