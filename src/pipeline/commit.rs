//! Commit: the first result under the live claim is the one result; every later one is turned
//! away.

use bytes::Bytes;

use super::{
    Pipeline,
    claim::Claimed,
    patience::Patience,
    publish::{Committed, Found},
    receive::Turned,
    run::{Ran, cancelled_error},
    trail,
};
use crate::{
    broker::{StoredResult, WalkBroker},
    contract::{ErrorCode, InvocationResult, IpcKind, Outcome, ResultError, Spent},
    handler::crash::CrashPoint,
    store::{Commit, CommitAnswer, WalkStore},
    telemetry::labels::CommitOutcome,
};

/// What a result's message holds beside its body, at most: subject and headers.
const ENVELOPE_BYTES_MAX: usize = 8 * 1024;

impl<B: WalkBroker, C: WalkStore> Pipeline<B, C> {
    pub(super) async fn commit(&self, mut ran: Ran) -> Result<Committed, Turned> {
        let mut body = self.result_of(&ran);
        trail::committing(&ran.asked, &ran.hold);
        let mut patience = Patience::new(&self.ports.chance, None);
        loop {
            let key = &ran.asked.key;
            let commit = Commit {
                result: body.clone(),
                cancelled: ran.cancelled,
                spent: ran.spent,
            };
            let asked = self.ports.claims.commit(key, ran.hold.nonce, commit);
            let metrics = &ran.received.served.metrics;
            match asked.await {
                Ok(CommitAnswer::Committed) => {
                    metrics.committed(CommitOutcome::Committed);
                    metrics.finished(finished(&ran.outcome));
                    trail::committed(&ran.asked, &ran.hold, &body);
                    if ran.hold.kin.lineage.is_some() {
                        self.ports.crash.reached(CrashPoint::AfterChildCommit);
                    }
                    return Ok(Committed::fresh(ran, body));
                }
                Ok(CommitAnswer::Lost) => {
                    metrics.committed(CommitOutcome::Lost);
                    trail::refused(&ran.asked, &ran.hold);
                    let (target, attempt) = (&key.target, ran.hold.attempt.number());
                    tracing::warn!(%target, attempt, "lease_lost: the result is dropped");
                    return Err(ran.received.lapse());
                }
                Ok(CommitAnswer::Cancelled) => {
                    ran.outcome = Outcome::Error(cancelled_error());
                    ran.cancelled = true;
                    body = self.result_of(&ran);
                }
                Err(fault) => {
                    self.ports.store_faulted(&fault, "commit");
                    // Whether it was committed is unknown; asking again with the same nonce tells.
                    tokio::select! {
                        () = ran.hold.session.fenced.cancelled() => return Err(ran.received.lapse()),
                        _ = patience.wait() => {}
                    }
                }
            }
        }
    }

    /// The bytes to commit. What could not be published is not committed either.
    fn result_of(&self, ran: &Ran) -> Bytes {
        let mut result = InvocationResult {
            request_id: ran.asked.key.request.clone(),
            correlation_id: ran.asked.correlation.clone(),
            duration: ran.hold.duration(),
            outcome: ran.outcome.clone(),
        };
        let body = result.to_json();
        let limit = self
            .ports
            .broker
            .payload_max()
            .saturating_sub(ENVELOPE_BYTES_MAX);
        if body.len() <= limit {
            return body.into();
        }
        let message = format!(
            "the result has {} bytes; the broker takes at most {limit}: raise its max_payload or answer less",
            body.len()
        );
        let error = ResultError::ipc(IpcKind::Internal, message).with("reason", "result_too_large");
        result.outcome = Outcome::Error(error);
        result.to_json().into()
    }

    /// Takes a result that stands in the stream, from before the store was emptied, as the
    /// request's own.
    pub(super) async fn adopt(
        &self,
        claimed: Claimed,
        stored: StoredResult,
    ) -> Result<Committed, Turned> {
        let body = stored.body;
        trail::committing(&claimed.asked, &claimed.hold);
        let mut patience = Patience::new(&self.ports.chance, None);
        loop {
            let key = &claimed.asked.key;
            let commit = Commit {
                result: body.clone(),
                cancelled: true,
                spent: Spent::default(),
            };
            let asked = self.ports.claims.commit(key, claimed.hold.nonce, commit);
            match asked.await {
                Ok(CommitAnswer::Committed | CommitAnswer::Cancelled) => {
                    trail::committed(&claimed.asked, &claimed.hold, &body);
                    let correlation = claimed.asked.correlation.clone();
                    let (received, asked) = (claimed.received, claimed.asked);
                    let found = Found {
                        body: Some(body),
                        correlation,
                        attempt: claimed.hold.attempt,
                        descent: claimed.hold.kin.descent(),
                    };
                    return Ok(Committed::found(received, asked, found));
                }
                Ok(CommitAnswer::Lost) => return Err(claimed.received.lapse()),
                Err(fault) => {
                    self.ports.store_faulted(&fault, "commit");
                    tokio::select! {
                        () = claimed.hold.session.fenced.cancelled() => {
                            return Err(claimed.received.lapse());
                        }
                        _ = patience.wait() => {}
                    }
                }
            }
        }
    }
}

fn finished(outcome: &Outcome) -> Result<(), ErrorCode> {
    match outcome {
        Outcome::Ok(_) => Ok(()),
        Outcome::Error(error) => Err(error.code),
    }
}
