//! Bury: a request that killed its workers, or a message in which there is no request, is kept as a
//! dead letter before it is answered.
//!
//! First the letter, then the answer: whoever dies in between leaves a request that is buried again,
//! and a message has one letter however often it is buried. Never: a run.

use std::time::Duration;

use super::{
    Pipeline,
    admit::Plan,
    claim::{Claimed, Deadly},
    patience::Patience,
    receive::Turned,
};
use crate::{
    broker::{DeadLetter, DeadLetters, DeadReason, StoredMessage},
    contract::{IpcKind, ResultError},
};

/// How long a broker that does not answer is asked before the claim goes back.
const BURY_PATIENCE: Duration = Duration::from_secs(30);

/// A delivery that could not be buried comes again after this, give or take half.
const BROKER_AWAY_DELAY: Duration = Duration::from_secs(2);

impl<B: DeadLetters, C> Pipeline<B, C> {
    /// The claim, to be answered as poisoned, once the letter is kept.
    pub(super) async fn bury(&self, deadly: Deadly) -> Result<Box<Claimed>, Turned> {
        let letter = letter_of(&deadly);
        let mut claimed = deadly.claimed;
        claimed.plan = Plan::Refuse(poisoned(&letter));
        self.keep(claimed, &letter).await
    }

    /// The claim of a message without a request, once the letter is kept.
    pub(super) async fn discard(&self, claimed: Box<Claimed>) -> Result<Box<Claimed>, Turned> {
        let letter = DeadLetter {
            reason: DeadReason::Malformed,
            detail: "its body is no JSON object".into(),
            target: Some(claimed.asked.key.target.clone()),
            attempts: Some(claimed.hold.attempt),
            last_worker: Some(self.ports.worker.as_str().into()),
            request: Some(claimed.asked.key.request.clone()),
            correlation: Some(claimed.asked.correlation.clone()),
            message: StoredMessage::of(&claimed.received.delivery),
        };
        self.keep(claimed, &letter).await
    }

    async fn keep(
        &self,
        claimed: Box<Claimed>,
        letter: &DeadLetter,
    ) -> Result<Box<Claimed>, Turned> {
        // Nobody wants it replayed: it ends as cancelled.
        if claimed.hold.cancelled {
            return Ok(claimed);
        }
        let mut patience = Patience::new(&self.ports.chance, Some(BURY_PATIENCE));
        loop {
            // Whoever lost the claim tells the broker nothing.
            if !claimed.hold.session.is_live() {
                return Err(claimed.received.lapse());
            }
            let Err(fault) = self.ports.broker.bury(letter).await else {
                break;
            };
            self.ports.broker_faulted(&fault, "bury");
            if !patience.wait().await {
                let delay = self.ports.chance.around(BROKER_AWAY_DELAY, 0.5);
                let (received, nonce) = (claimed.received, claimed.hold.nonce);
                return Err(received.hand_over(claimed.asked.key, nonce.into(), delay));
            }
        }
        self.ports.metrics.buried(letter.reason);
        let target = &claimed.asked.key.target;
        let (reason, detail) = (letter.reason.as_str(), &*letter.detail);
        tracing::error!(%target, reason, detail, "kept as a dead letter");
        Ok(claimed)
    }
}

fn letter_of(deadly: &Deadly) -> DeadLetter {
    let Claimed {
        received,
        asked,
        hold,
        ..
    } = &*deadly.claimed;
    let detail = format!(
        "its workers died {} times while they ran it, the last one {}",
        hold.attempt, deadly.last_worker
    );
    DeadLetter {
        reason: DeadReason::Poisoned,
        detail: detail.into(),
        target: Some(asked.key.target.clone()),
        attempts: Some(hold.attempt),
        last_worker: Some(deadly.last_worker.clone()),
        request: Some(asked.key.request.clone()),
        correlation: Some(asked.correlation.clone()),
        message: StoredMessage::of(&received.delivery),
    }
}

fn poisoned(letter: &DeadLetter) -> ResultError {
    let message = format!(
        "{}: it is kept as a dead letter and not run again; `puruto dlq show` tells more, \
         and once the cause is gone `puruto dlq replay` runs it under a new id",
        letter.detail
    );
    let attempts = letter.attempts.map(|it| it.number());
    ResultError::ipc(IpcKind::Poisoned, message).with("attempts", attempts)
}
