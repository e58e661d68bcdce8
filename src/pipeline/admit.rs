//! Admit: what a delivery asks for, and whether it may. No I/O.

use std::{sync::Arc, time::Duration};

use super::{Pipeline, Service, receive::Received, trace::Trace};
use crate::{
    broker::Delivery,
    clock::WallTime,
    contract::{
        ActionName, CorrelationId, DEFAULT_TIMEOUT, Deadline, Draft, ErrorCode, Fingerprint,
        Header, InvocationRequest, MintedIds, PurutoName, Rejected, ResultError, Violation,
    },
    policy::Denial,
    store::RequestKey,
};

/// A delivery of which is known what it asks for.
#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) received: Received,
    pub(super) asked: Asked,
    pub(super) plan: Plan,
}

/// The identity of a request.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) key: RequestKey,
    pub(super) correlation: CorrelationId,
    /// Who asks what for; nothing where there is no request in the message.
    pub(super) purpose: Option<Purpose>,
    pub(super) fingerprint: Fingerprint,
    pub(super) deadline: Deadline,
    pub(super) trace: Trace,
    /// Whether it is told what happens to it.
    pub(super) eventful: bool,
}

/// Who asks, and what for.
#[derive(Clone, Debug)]
pub(super) struct Purpose {
    pub(super) caller: PurutoName,
    pub(super) action: ActionName,
}

/// What a claim on the request is for.
#[derive(Debug)]
pub(super) enum Plan {
    /// To run it.
    Run(Arc<InvocationRequest>),
    /// To answer it with an error: also a refusal is committed once.
    Refuse(ResultError),
    /// To keep it as a dead letter and then answer it so: there is no request in it, so its author
    /// may know of no id under which to look for the answer.
    Discard(ResultError),
}

/// How long a request may take.
struct Timing {
    timeout: Duration,
    deadline: Deadline,
    /// What is wrong with the header that would cut the deadline.
    bad_cut: Option<Violation>,
}

impl<B, C> Pipeline<B, C> {
    /// Which request of `target` a delivery asks for, and until when it may take. Decides nothing.
    pub fn identify(&self, delivery: &Delivery, target: &PurutoName) -> (RequestKey, Deadline) {
        let minted = self.minted(delivery);
        let (request, deadline) = match Draft::parse(&delivery.body) {
            Ok(draft) => {
                let request = draft.complete(minted);
                let deadline = self.timing(delivery, &request).deadline;
                (request.request_id, deadline)
            }
            Err(rejected) => (
                rejected.request_id.unwrap_or(minted.request_id),
                deadline_of_unreadable(delivery),
            ),
        };
        let target = target.clone();
        (RequestKey { target, request }, deadline)
    }

    fn minted(&self, delivery: &Delivery) -> MintedIds {
        let stored_at = delivery.stored_at.unix_millis();
        MintedIds::of_message(&self.ports.invoke_stream, delivery.sequence, stored_at)
    }

    fn timing(&self, delivery: &Delivery, request: &InvocationRequest) -> Timing {
        let own = request.timeout_sec.map(|it| it.duration());
        let timeout = own.unwrap_or_else(|| {
            let policies = self.ports.policies.current();
            policies.default_timeout(&request.caller)
        });
        let (cut, bad_cut) = cut_of(delivery);
        Timing {
            timeout,
            deadline: Deadline::of(delivery.stored_at, timeout, cut),
            bad_cut,
        }
    }

    pub(super) fn admit(&self, received: Received) -> Admitted {
        let minted = self.minted(&received.delivery);
        match Draft::parse(&received.delivery.body) {
            Ok(draft) => self.admit_request(received, draft.complete(minted)),
            Err(rejected) => self.refuse_unreadable(received, rejected, minted),
        }
    }

    fn admit_request(&self, received: Received, request: InvocationRequest) -> Admitted {
        let delivery = &received.delivery;
        let Timing {
            timeout,
            deadline,
            bad_cut,
        } = self.timing(delivery, &request);
        let refusal = not_found(&received)
            .or_else(|| bad_cut.map(|violation| ResultError::invalid_request(&[violation])))
            .or_else(|| self.refusal(&received, &request))
            .or_else(|| late(deadline, self.ports.clock.now(), timeout));
        let asked = Asked {
            key: RequestKey {
                target: received.served.name.clone(),
                request: request.request_id.clone(),
            },
            trace: Trace::of(delivery, &received.served.name, &request.correlation_id),
            correlation: request.correlation_id.clone(),
            purpose: Some(Purpose {
                caller: request.caller.clone(),
                action: request.action.clone(),
            }),
            fingerprint: request.fingerprint(),
            deadline,
            eventful: self.ports.events.of(&received.served),
        };
        let plan = refusal.map_or_else(|| Plan::Run(Arc::new(request)), Plan::Refuse);
        Admitted {
            received,
            asked,
            plan,
        }
    }

    /// Why the request may not run, if it may not: anyone can publish, so the caller's policy is
    /// asked again here.
    fn refusal(&self, received: &Received, request: &InvocationRequest) -> Option<ResultError> {
        let served = &received.served;
        if request.target != served.name {
            let message = format!(
                "the body names the target {} but was published to the subject of {}",
                request.target, served.name
            );
            return Some(ResultError::new(ErrorCode::Denied, message));
        }
        let policies = self.ports.policies.current();
        let InvocationRequest {
            caller,
            target,
            action,
            hop,
            ..
        } = request;
        if let Err(denial) = policies.decide(caller, target, action, *hop) {
            return Some(denial.into());
        }
        match &served.service {
            Service::Here { actions, .. } if !actions.contain(action) => {
                let (target, action) = (target.clone(), action.clone());
                Some(Denial::NotServed { target, action }.into())
            }
            Service::Here { .. } | Service::Away | Service::Nobody => None,
        }
    }

    /// A message that is no request is answered as well, under whatever ids it has.
    fn refuse_unreadable(
        &self,
        received: Received,
        rejected: Rejected,
        minted: MintedIds,
    ) -> Admitted {
        let delivery = &received.delivery;
        let correlation = rejected.correlation_id.unwrap_or(minted.correlation_id);
        let asked = Asked {
            key: RequestKey {
                target: received.served.name.clone(),
                request: rejected.request_id.unwrap_or(minted.request_id),
            },
            trace: Trace::of(delivery, &received.served.name, &correlation),
            correlation,
            purpose: None,
            fingerprint: Fingerprint::of_bytes(&delivery.body),
            deadline: deadline_of_unreadable(delivery),
            eventful: self.ports.events.of(&received.served),
        };
        let invalid = ResultError::invalid_request(&rejected.violations);
        let plan = match not_found(&received) {
            Some(refusal) => Plan::Refuse(refusal),
            None if rejected.is_object => Plan::Refuse(invalid),
            None => Plan::Discard(invalid),
        };
        Admitted {
            received,
            asked,
            plan,
        }
    }
}

/// That nobody ever does what is asked, if that is so.
fn not_found(received: &Received) -> Option<ResultError> {
    let Service::Nobody = received.served.service else {
        return None;
    };
    let message = format!(
        "no worker of the fleet ever served what is published to {}",
        received.delivery.subject
    );
    Some(ResultError::new(ErrorCode::TargetNotFound, message))
}

fn deadline_of_unreadable(delivery: &Delivery) -> Deadline {
    Deadline::of(delivery.stored_at, DEFAULT_TIMEOUT, None)
}

/// What the deadline header cuts the deadline to, or what is wrong with it.
fn cut_of(delivery: &Delivery) -> (Option<WallTime>, Option<Violation>) {
    let Some(text) = delivery.headers.get(Header::Deadline) else {
        return (None, None);
    };
    match WallTime::parse_rfc3339(text) {
        Some(cut) => (Some(cut), None),
        None => {
            let violation = Violation::new(
                Header::Deadline.as_str(),
                "an RFC 3339 time such as 2026-01-31T12:00:00Z",
                format_args!("{text:?}"),
            );
            (None, Some(violation))
        }
    }
}

fn late(deadline: Deadline, now: WallTime, timeout: Duration) -> Option<ResultError> {
    deadline
        .passed(now)
        .then(|| timed_out(deadline, timeout, "queued"))
}

/// The answer to a request whose deadline passed while it was `what`.
pub(super) fn timed_out(deadline: Deadline, timeout: Duration, what: &str) -> ResultError {
    let timeout = humantime::format_duration(timeout);
    let message =
        format!("no result by the deadline {deadline} (time-out {timeout}): it was {what}");
    ResultError::new(ErrorCode::Timeout, message)
}
