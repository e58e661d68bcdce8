//! Claim: at most one live owner a request.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    Flight, Left, Pipeline, Session,
    admit::{Admitted, Asked, Plan},
    patience::Patience,
    publish::{Committed, Found, answers},
    receive::{Received, Turned},
    trail,
};
use crate::{
    broker::{BrokerFault, Delivery, StoredResult, WalkBroker},
    contract::{Header, IpcKind, ResultError},
    handler::CallsMade,
    store::{
        Attempt, Carried, Claim, ClaimAnswer, Claimed as Grant, Nonce, StoreFault, WalkStore,
        kin::Kin,
    },
    telemetry::labels::ClaimOutcome,
};

/// How long a store that does not answer is asked before the delivery goes back.
const CLAIM_PATIENCE: Duration = Duration::from_secs(10);

/// A delivery that goes back because the store is away comes again no sooner than this, give or
/// take half.
const STORE_AWAY_DELAY: Duration = Duration::from_secs(2);

/// A request that somebody else holds is asked after later by so much with each delivery ...
const HELD_DELAY_STEP: Duration = Duration::from_secs(1);

/// ... but no later than a dead owner's session takes to end by default: deliveries that died with
/// their workers count here as well, and must not keep the next worker away for longer ...
const HELD_DELAY_SOON: Duration = Duration::from_secs(15);

/// ... unless it was delivered this often: then its owner lives, and is busy for long ...
const HELD_FOR_LONG: u64 = 64;

/// ... so that more than a day of such waits fits the broker's limit of deliveries.
const HELD_DELAY_MAX: Duration = Duration::from_secs(120);

/// A request that this worker alone may run. Made only here.
#[derive(Debug)]
pub(super) struct Claimed {
    pub(super) received: Received,
    pub(super) asked: Asked,
    pub(super) plan: Plan,
    pub(super) hold: Hold,
}

/// What this worker holds of a request.
#[derive(Debug)]
pub(super) struct Hold {
    pub(super) nonce: Nonce,
    pub(super) attempt: Attempt,
    /// Flagged for cancel before the claim: it must not run.
    pub(super) cancelled: bool,
    /// The claim is void when its session ends.
    pub(super) session: Arc<Session>,
    /// Ends when somebody cancels the request.
    pub(super) cancel: CancellationToken,
    /// How often models were called for it, also under earlier claims.
    pub(super) calls_made: CallsMade,
    /// What it has to do with other requests.
    pub(super) kin: Kin,
    /// Ends when its run turns out to be somebody else's, or cancelled.
    pub(super) gone: CancellationToken,
    /// How long the request had been claimed, by whomever, when this claim was granted ...
    claimed_before: Duration,
    /// ... which was at this moment.
    granted: Instant,
}

impl Hold {
    /// From the request's first claim until now.
    pub(super) fn duration(&self) -> Duration {
        self.claimed_before + self.granted.elapsed()
    }

    /// The claim as it is given back: whoever has the request next goes on counting.
    pub(super) fn left(&self) -> Left {
        Left {
            nonce: self.nonce,
            carried: Carried::new(&self.calls_made.to_string()),
        }
    }
}

/// A request that killed its workers as often as it may be executed: this worker alone may answer
/// it, and it is not to run. Made only here.
#[derive(Debug)]
pub(super) struct Deadly {
    pub(super) claimed: Box<Claimed>,
    pub(super) last_worker: Box<str>,
}

/// What a claim led to.
#[derive(Debug)]
pub(super) enum Claiming {
    /// It is ours to run.
    Ours(Box<Claimed>),
    /// It is ours to bury.
    Deadly(Deadly),
    /// It has its answer.
    Answered(Box<Committed>),
}

impl<B: WalkBroker, C: WalkStore> Pipeline<B, C> {
    pub(super) async fn claim(
        &self,
        admitted: Admitted,
        flight: &Flight,
    ) -> Result<Claiming, Turned> {
        let Some(session) = self.ports.sessions.current() else {
            return Err(self.store_away(admitted.received));
        };
        let nonce = Nonce::fresh(&self.ports.chance);
        // Announced before it is made: a cancel that comes in between must find it.
        let cancel = flight.named(&admitted.asked.key);
        match self.ask(&admitted, &session, nonce).await {
            Ok(answer) => {
                self.answered(admitted, answer, session, nonce, cancel)
                    .await
            }
            // It may have been made all the same.
            Err(_) => {
                let delay = self.ports.chance.around(STORE_AWAY_DELAY, 0.5);
                Err(admitted
                    .received
                    .hand_over(admitted.asked.key, nonce.into(), delay))
            }
        }
    }

    /// Asks for the claim until there is an answer: the same nonce makes asking again harmless.
    async fn ask(
        &self,
        admitted: &Admitted,
        session: &Session,
        nonce: Nonce,
    ) -> Result<ClaimAnswer, StoreFault> {
        let mut patience = Patience::new(&self.ports.chance, Some(CLAIM_PATIENCE));
        loop {
            let claim = Claim {
                key: admitted.asked.key.clone(),
                correlation: admitted.asked.correlation.clone(),
                fingerprint: admitted.asked.fingerprint,
                session: session.id.clone(),
                nonce,
                ack: admitted.received.delivery.ack.clone(),
                deadline: admitted.asked.deadline,
            };
            match self.ports.claims.claim(claim).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => {
                    self.ports.store_faulted(&fault, "claim");
                    if session.fenced.is_cancelled() || !patience.wait().await {
                        return Err(fault);
                    }
                }
            }
        }
    }

    async fn answered(
        &self,
        admitted: Admitted,
        answer: ClaimAnswer,
        session: Arc<Session>,
        nonce: Nonce,
        cancel: CancellationToken,
    ) -> Result<Claiming, Turned> {
        let metrics = Arc::clone(&admitted.received.served.metrics);
        match answer {
            ClaimAnswer::Claimed(grant) => {
                metrics.claimed(ClaimOutcome::Claimed);
                let claimed = self.granted(admitted, &grant, session, nonce, cancel);
                let emptied = self.ports.epochs.store_was_emptied(self.ports.clock.now());
                if emptied {
                    // Boxed: so rare a way would make every walk's future as large as its own.
                    return Box::pin(self.unless_published(claimed)).await;
                }
                Ok(Claiming::Ours(claimed))
            }
            ClaimAnswer::Exhausted(exhausted) => {
                metrics.claimed(ClaimOutcome::Exhausted);
                let grant = &exhausted.claimed;
                Ok(Claiming::Deadly(Deadly {
                    claimed: self.granted(admitted, grant, session, nonce, cancel),
                    last_worker: exhausted.last_worker,
                }))
            }
            ClaimAnswer::Held(_) => {
                metrics.claimed(ClaimOutcome::Held);
                let delay = held_delay(admitted.received.delivery.delivered);
                let delay = self.ports.chance.around(delay, 0.1);
                Err(not_now(admitted.received, delay))
            }
            ClaimAnswer::Waiting => {
                metrics.claimed(ClaimOutcome::Waiting);
                let delay = self.rest_delay(&admitted.received, &admitted.asked);
                Err(not_now(admitted.received, delay))
            }
            ClaimAnswer::Done {
                result,
                correlation,
                attempt,
                kin,
            } => {
                metrics.claimed(ClaimOutcome::Done);
                let found = Found {
                    body: result,
                    correlation,
                    attempt,
                    descent: kin.and_then(|it| it.descent()),
                };
                let committed = Committed::found(admitted.received, admitted.asked, found);
                Ok(Claiming::Answered(Box::new(committed)))
            }
            ClaimAnswer::Conflict { correlation } => {
                metrics.claimed(ClaimOutcome::Conflict);
                let error = conflict(&admitted.asked);
                let committed =
                    Committed::conflict(admitted.received, admitted.asked, error, &correlation);
                Ok(Claiming::Answered(Box::new(committed)))
            }
            ClaimAnswer::Fenced => {
                session.fence();
                Err(self.store_away(admitted.received))
            }
        }
    }

    fn granted(
        &self,
        mut admitted: Admitted,
        grant: &Grant,
        session: Arc<Session>,
        nonce: Nonce,
        cancel: CancellationToken,
    ) -> Box<Claimed> {
        let waited = self
            .ports
            .clock
            .now()
            .since(admitted.received.delivery.stored_at);
        admitted.received.served.metrics.queued(waited);
        let hold = Hold {
            nonce,
            attempt: grant.attempt,
            cancelled: grant.cancelled,
            session,
            cancel,
            calls_made: CallsMade::recorded(grant.carried.as_str()),
            kin: grant.kin.as_deref().cloned().unwrap_or_default(),
            gone: CancellationToken::new(),
            claimed_before: grant.now.since(grant.first_claimed),
            granted: Instant::now(),
        };
        trail::claimed(&admitted.asked, &hold, grant.now);
        admitted.asked.eventful |= grant.kin.is_some();
        self.ports.tell_claimed(&admitted.asked, grant);
        Box::new(Claimed {
            received: admitted.received,
            asked: admitted.asked,
            plan: admitted.plan,
            hold,
        })
    }

    /// After the store was emptied a request may have been answered before: the results stream then
    /// knows. That there is a record says nothing: who made it may have given it back unseen.
    async fn unless_published(&self, mut claimed: Box<Claimed>) -> Result<Claiming, Turned> {
        match self.published_before(&claimed.asked).await {
            Ok(Before::Nothing) => Ok(Claiming::Ours(claimed)),
            Ok(Before::Own(stored)) => Ok(Claiming::Answered(Box::new(
                self.adopt(*claimed, stored).await?,
            ))),
            Ok(Before::Others) => {
                claimed.plan = Plan::Refuse(conflict(&claimed.asked));
                Ok(Claiming::Ours(claimed))
            }
            Err(fault) => {
                self.ports.broker_faulted(&fault, "read result");
                let Claimed {
                    received,
                    asked,
                    hold,
                    ..
                } = *claimed;
                let delay = self.ports.chance.around(STORE_AWAY_DELAY, 0.5);
                Err(received.hand_over(asked.key, hold.nonce.into(), delay))
            }
        }
    }

    /// The answer to this very payload may stand beside its place, which may be a stranger's.
    async fn published_before(&self, asked: &Asked) -> Result<Before, BrokerFault> {
        let ids = (&asked.correlation, &asked.key.request);
        let aside = self
            .ports
            .subjects
            .result_aside(ids.0, ids.1, asked.fingerprint);
        let mut before = Before::Nothing;
        for subject in [self.ports.place_of(asked), aside] {
            match self.ports.broker.read_result(&subject).await? {
                Some(stored) if answers(&stored, asked) => return Ok(Before::Own(stored)),
                Some(stored) if answers_another(&stored, asked) => before = Before::Others,
                Some(_) | None => {}
            }
        }
        Ok(before)
    }

    fn store_away(&self, received: Received) -> Turned {
        received.nak(self.ports.chance.around(STORE_AWAY_DELAY, 0.5))
    }
}

/// What the results stream knows of a request whose record was lost.
enum Before {
    Nothing,
    /// It was answered so.
    Own(StoredResult),
    /// Its id was used for another payload.
    Others,
}

/// Whether it is the same target's answer to another payload.
fn answers_another(stored: &StoredResult, asked: &Asked) -> bool {
    let target = stored.headers.get(Header::Target);
    target == Some(asked.key.target.as_str()) && stored.headers.get(Header::Fingerprint).is_some()
}

/// To be delivered again after `delay`; nothing is said of what another worker may have in hand.
fn not_now(received: Received, delay: Duration) -> Turned {
    if received.delivery.delivered == Delivery::FOUND {
        return received.lapse();
    }
    received.nak(delay)
}

/// How long a delivery stays away that cannot be taken for now.
pub(super) fn held_delay(delivered: u64) -> Duration {
    if delivered > HELD_FOR_LONG {
        return HELD_DELAY_MAX;
    }
    let steps = u32::try_from(delivered).unwrap_or(u32::MAX).max(1);
    HELD_DELAY_STEP.saturating_mul(steps).min(HELD_DELAY_SOON)
}

fn conflict(asked: &Asked) -> ResultError {
    let message = format!(
        "request id {} came before with another payload; use a new id for a new request",
        asked.key.request
    );
    ResultError::ipc(IpcKind::RequestIdConflict, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_request_is_asked_after_ever_more_rarely() {
        let delays = [1, 2, 3, 40, 65, 1_000].map(|it| held_delay(it).as_secs());
        assert_eq!(delays, [1, 2, 3, 15, 120, 120]);
    }

    #[test]
    fn workers_that_died_with_a_request_do_not_keep_it_from_the_next_one_for_long() {
        let after_deaths = (1..=64).map(held_delay).max();
        assert_eq!(after_deaths, Some(Duration::from_secs(15)));
    }

    #[test]
    fn a_request_held_for_a_day_stays_within_the_limit_of_deliveries() {
        let waits: Duration = (1..1_000).map(held_delay).sum();
        assert!(waits > Duration::from_secs(86_400), "{waits:?}");
    }
}
