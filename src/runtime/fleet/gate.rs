//! The way to one attempt: first this process's own breaker, then what the fleet knows.
//!
//! Never: a wait beyond the call's deadline, or an attempt that nobody is told the end of.

use std::{fmt, sync::Arc, time::Duration};

use super::{
    super::{
        Fault, MaxTokens, ModelAnswer, ModelCall, Shared,
        breaker::{Breaker, BreakerState, Ticket},
        connector::{Connector, Payload},
        fault::Again,
        observe::{self, Observe},
    },
    Fleet,
};
use crate::{
    circuit::{
        Admission, Ask, BreakerRules, CircuitName, Ended, Outcome, PassId, RateLimits, Refusal,
        Spent, Standing, Throttled,
    },
    clock::Chance,
};

/// About so many bytes of a question are a token.
const BYTES_A_TOKEN: usize = 4;
/// So many tokens an answer is expected to have where nothing limits it.
const ANSWER_TOKENS: u64 = 1_000;
/// How much longer than told somebody waits at most, as a share: those who were told the same are
/// not to come back together.
const JITTER_SHARE: f64 = 0.5;
/// The shortest wait that is worth waiting.
const WAIT_MIN: Duration = Duration::from_millis(10);

/// What the account at a server allows, and how long an answer is at most.
#[derive(Clone, Copy, Debug)]
pub(in crate::runtime) struct Quota {
    pub(in crate::runtime) limits: RateLimits,
    /// For calls that do not say.
    pub(in crate::runtime) max_tokens: Option<MaxTokens>,
}

impl Quota {
    /// Of a server that has no account.
    pub(in crate::runtime) const NONE: Self = Self {
        limits: RateLimits::NONE,
        max_tokens: None,
    };
}

/// Lets attempts at one server through.
pub(in crate::runtime) struct Gate {
    circuit: CircuitName,
    rules: BreakerRules,
    quota: Quota,
    breaker: Breaker,
    /// Nobody else calls a simulated model.
    fleet: Option<Arc<dyn Fleet>>,
    chance: Chance,
    observe: Arc<dyn Observe>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gate({:?}, {:?})", self.breaker, self.fleet)
    }
}

impl Gate {
    /// The gate before `connector`.
    pub(in crate::runtime) fn new(connector: &Connector, shared: &Shared) -> Self {
        let rules = BreakerRules {
            probe_lease: connector.request_timeout(),
            ..BreakerRules::default()
        };
        Self {
            circuit: connector.circuit(),
            rules,
            quota: connector.quota(),
            breaker: connector.breaker(&shared.circuits, rules, &shared.observe),
            fleet: connector.is_real().then(|| Arc::clone(&shared.fleet)),
            chance: shared.chance.clone(),
            observe: Arc::clone(&shared.observe),
        }
    }

    /// Waits until an attempt may be made.
    ///
    /// # Errors
    /// The circuit is open, or the wait would be longer than the call's deadline allows.
    pub(in crate::runtime) async fn enter(
        &self,
        call: &ModelCall,
        payload: &Payload,
    ) -> Result<Leave, Fault> {
        match &self.fleet {
            None => self.breaker.admit().map(Leave::untold),
            // Boxed, so that simulated calls do not each carry what is said to a fleet.
            Some(fleet) => Box::pin(self.enter_together(fleet, call, payload)).await,
        }
    }

    async fn enter_together(
        &self,
        fleet: &Arc<dyn Fleet>,
        call: &ModelCall,
        payload: &Payload,
    ) -> Result<Leave, Fault> {
        loop {
            let ticket = self.breaker.admit()?;
            let ask = self.ask(call, payload);
            match fleet.admit(&self.circuit, &ask).await {
                Admission::Admitted(standing) => {
                    let told = self.unsent(fleet, &ask, standing);
                    let ticket = self.heed(standing, ticket)?;
                    return Ok(Leave::sending(ticket, told));
                }
                // From now on this process's own breaker says so.
                Admission::Refused(refusal) => self.breaker.adopt_refusal(Refusal {
                    retry_in: refusal.retry_in.max(WAIT_MIN),
                    ..refusal
                }),
                Admission::Throttled(throttled) => {
                    drop(ticket);
                    self.wait_out(call, throttled).await?;
                }
            }
        }
    }

    /// Whether this process's own breaker lets nothing through for now.
    pub(in crate::runtime) fn is_open(&self) -> bool {
        self.breaker.state() == BreakerState::Open
    }

    /// Whether an attempt that was let through may still begin, after it had to wait for something
    /// else.
    ///
    /// # Errors
    /// The circuit has opened since.
    pub(in crate::runtime) fn recheck(&self) -> Result<(), Fault> {
        if self.is_open() {
            return self.breaker.admit().map(drop);
        }
        Ok(())
    }

    fn ask(&self, call: &ModelCall, payload: &Payload) -> Ask {
        let question = payload.size() / BYTES_A_TOKEN;
        let answer = call.max_tokens.or(self.quota.max_tokens);
        let answer = answer.map_or(ANSWER_TOKENS, |it| it.0.get().into());
        Ask {
            pass: PassId::fresh(&self.chance),
            rules: self.rules,
            limits: self.quota.limits,
            tokens: answer + question as u64,
        }
    }

    fn unsent(&self, fleet: &Arc<dyn Fleet>, ask: &Ask, standing: Option<Standing>) -> Told {
        Told {
            fleet: Arc::clone(fleet),
            circuit: self.circuit.clone(),
            outcome: Outcome {
                pass: ask.pass,
                generation: standing.map(|it| it.generation),
                rules: ask.rules,
                ended: Ended::Neutral,
                retry_after: None,
                spent: Spent::Unsent,
            },
        }
    }

    /// Lets this process's breaker follow the fleet's; where the fleet cannot be asked any more, an
    /// attempt needs the leave of our own.
    fn heed(&self, standing: Option<Standing>, ticket: Ticket) -> Result<Ticket, Fault> {
        match standing {
            Some(standing) => self.breaker.adopt(standing.state),
            None if self.breaker.let_go() => return self.breaker.admit(),
            None => {}
        }
        Ok(ticket)
    }

    async fn wait_out(&self, call: &ModelCall, throttled: Throttled) -> Result<(), Fault> {
        let Throttled { wait, by } = throttled;
        let time_left = call.time_left();
        if wait >= time_left {
            return Err(Fault::Throttled {
                circuit: self.circuit.clone(),
                by,
                wait,
                time_left,
            });
        }
        let wait = wait.max(WAIT_MIN);
        let later = wait.mul_f64(JITTER_SHARE * self.chance.fraction());
        let wait = (wait + later).min(time_left);
        observe::throttled(call, by, wait);
        self.observe.throttled(by, wait);
        call.wait(wait).await;
        Ok(())
    }
}

/// Leave to make one attempt. Dropped without a word it says nothing about the server, and what was
/// taken from its limits stays taken: it was probably asked.
#[derive(Debug)]
#[must_use = "an attempt ends as it went"]
pub(in crate::runtime) struct Leave {
    ticket: Ticket,
    told: Option<Box<Told>>,
}

impl Leave {
    /// Where there is nobody to tell.
    const fn untold(ticket: Ticket) -> Self {
        Self { ticket, told: None }
    }

    fn sending(ticket: Ticket, mut told: Told) -> Self {
        told.outcome.spent = Spent::Unknown;
        let told = Some(Box::new(told));
        Self { ticket, told }
    }

    /// Says how the attempt ended.
    pub(in crate::runtime) fn end(self, answered: &Result<ModelAnswer, Fault>) {
        let ended = answered
            .as_ref()
            .map_or_else(Fault::health, |_| Ended::Success);
        self.ticket.end(ended);
        let Some(mut told) = self.told else {
            return;
        };
        told.outcome.ended = ended;
        match answered {
            Ok(answer) => told.outcome.spent = Spent::Tokens(answer.usage.total_tokens),
            // A server that will not have this call at all does not ask for patience.
            Err(fault) if fault.again() == Again::Never => {}
            Err(fault) => told.outcome.retry_after = fault.retry_after(),
        }
    }
}

/// What the fleet is told of an attempt, when that ends or is dropped.
#[derive(Debug)]
struct Told {
    fleet: Arc<dyn Fleet>,
    circuit: CircuitName,
    outcome: Outcome,
}

impl Drop for Told {
    fn drop(&mut self) {
        self.fleet.report(&self.circuit, self.outcome);
    }
}

#[cfg(test)]
impl Gate {
    /// Where this process's own breaker stands.
    pub(super) fn state(&self) -> BreakerState {
        self.breaker.state()
    }
}
