//! What came of a request's children: read from where their results stand.
//!
//! A result is taken for a child's only if it answers the child's own payload. Never: a cache.

use super::{Ports, Session, patience::Patience};
use crate::{
    broker::{Broker, StoredResult},
    contract::{
        CorrelationId, ErrorCode, Header, InvocationResult, IpcKind, Outcome, ResultError, Step,
    },
    handler::delegating::ChildOutcome,
    store::{
        RequestKey, Waits,
        kin::{Child, ChildEnd, Wait},
    },
};

/// How results are read on behalf of one claim.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading<'a> {
    /// Without it nobody wants them.
    pub(super) session: &'a Session,
    /// The chain under which they stand.
    pub(super) correlation: &'a CorrelationId,
}

impl Reading<'_> {
    /// What came of the delegation `step` of `parent`. Waits for servers that are away.
    pub(super) async fn outcomes<B: Broker, C: Waits>(
        self,
        ports: &Ports<B, C>,
        parent: &RequestKey,
        step: Step,
    ) -> Vec<ChildOutcome> {
        let children = || ports.claims.children(parent);
        let children = ports.insist_or_never(self.session, "children", children);
        let children = children.await;
        let wait = || ports.claims.wait(parent);
        let wait = ports.insist_or_never(self.session, "wait", wait).await;
        let wait = wait.filter(|it| it.step == step);
        let mut outcomes = Vec::new();
        for child in children.into_iter().filter(|it| it.place.step == step) {
            outcomes.push(ChildOutcome {
                outcome: self.outcome(ports, &child, wait.as_ref()).await,
                key: child.key,
                action: child.action,
            });
        }
        outcomes
    }

    /// None for a child that its parent did not wait for.
    async fn outcome<B: Broker, C>(
        self,
        ports: &Ports<B, C>,
        child: &Child,
        wait: Option<&Wait>,
    ) -> Option<Outcome> {
        let mut ends = wait.into_iter().flat_map(|it| &it.children);
        let end = ends.find(|(it, _)| it.place == child.place);
        if matches!(end, Some((_, Some(ChildEnd::Dropped)))) {
            return None;
        }
        let ids = (self.correlation, &child.key.request);
        let place = ports.subjects.result(ids.0, ids.1);
        let aside = ports.subjects.result_aside(ids.0, ids.1, child.fingerprint);
        for subject in [place, aside] {
            let stored = self.read(ports, &subject).await;
            if let Some(stored) = stored.filter(|it| answers(it, child)) {
                let outcome = outcome_of(&stored);
                let spare = wait.is_some_and(Wait::has_spares) && is_cancelled(&outcome);
                return (!spare).then_some(outcome);
            }
        }
        // Of an earlier delegation nobody remembers any more who was dropped.
        end.map(|_| Outcome::Error(no_result(child)))
    }

    async fn read<B: Broker, C>(self, ports: &Ports<B, C>, subject: &str) -> Option<StoredResult> {
        let mut patience = Patience::new(&ports.chance, None);
        loop {
            match ports.broker.read_result(subject).await {
                Ok(stored) => return stored,
                Err(fault) => ports.broker_faulted(&fault, "read result"),
            }
            self.hold_on(&mut patience).await;
        }
    }

    /// Until the next try; for ever once the claim is void, since whoever waits is dropped then.
    async fn hold_on(self, patience: &mut Patience<'_>) {
        if self.session.is_live() {
            patience.wait().await;
        } else {
            std::future::pending().await
        }
    }
}

fn no_result(child: &Child) -> ResultError {
    let message = format!(
        "{} has no result: its id was used for another request, or the result is not kept any more",
        child.key.request
    );
    ResultError::ipc(IpcKind::RequestIdConflict, message)
}

/// Whether a stored result is the child's own: it may be that of another request with its id.
pub(super) fn answers(stored: &StoredResult, child: &Child) -> bool {
    let fingerprint = child.fingerprint.to_string();
    stored.headers.get(Header::Fingerprint) == Some(fingerprint.as_str())
}

/// Whoever was cancelled because others were quicker was not waited for either.
fn is_cancelled(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Error(error) if error.code == ErrorCode::Cancelled)
}

fn outcome_of(stored: &StoredResult) -> Outcome {
    match serde_json::from_slice::<InvocationResult>(&stored.body) {
        Ok(result) => result.outcome,
        Err(_) => {
            let message = "the result of a child cannot be read".to_owned();
            Outcome::Error(ResultError::ipc(IpcKind::Internal, message))
        }
    }
}
