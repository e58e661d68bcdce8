//! Events: what happens to a request, told while it happens.
//!
//! Never: waited for. An event that finds no room is dropped and counted, and none holds a prompt,
//! an answer or a secret.

use bytes::Bytes;
use futures_util::FutureExt as _;
use serde_json::{Map, Value, json};
use tokio::task::unconstrained;

use super::{Ports, Served, admit::Asked};
use crate::{
    broker::Broker,
    contract::{ErrorCode, Event, EventKind},
    store::{
        Attempt, Claimed,
        kin::{Child, Park},
        run::Operation,
    },
};

/// Of which requests is told what happens to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventsOf {
    /// Of every one.
    All,
    /// Of those that were delegated, that ask others, that wait for an approval, and of agents.
    #[default]
    Delegations,
    /// Of none.
    None,
}

impl EventsOf {
    /// Whether it is told of every request of this target, whatever becomes of it.
    pub(super) fn of(self, served: &Served) -> bool {
        match self {
            Self::All => true,
            Self::Delegations => served.route().is_some(),
            Self::None => false,
        }
    }
}

impl<B: Broker, C> Ports<B, C> {
    /// The handler begins, or goes on.
    pub(super) fn tell_started(&self, asked: &Asked, attempt: Attempt) {
        self.tell_if_eventful(
            asked,
            EventKind::Started,
            attempt,
            || json!({"worker": self.worker}),
        );
    }

    /// A claim was granted, with `grant`: the first one, or one after a worker that did not come to
    /// an end.
    pub(super) fn tell_claimed(&self, asked: &Asked, grant: &Claimed) {
        let goes_on = grant.kin.as_ref().is_some_and(|kin| kin.waits);
        let kind = match grant.attempt.number() {
            1 if grant.now == grant.first_claimed => EventKind::Accepted,
            1 => return,
            _ if goes_on => return,
            _ => EventKind::Retrying,
        };
        self.tell_if_eventful(
            asked,
            kind,
            grant.attempt,
            || json!({"worker": self.worker, "deadline": asked.deadline.to_string()}),
        );
    }

    /// Others are asked.
    pub(super) fn tell_delegated(&self, asked: &Asked, attempt: Attempt, park: &Park) {
        let of = |(child, _): &(Child, Bytes)| {
            json!({
                "request_id": child.key.request,
                "target": child.key.target,
                "action": child.action,
            })
        };
        let children: Vec<_> = park.children.iter().map(of).collect();
        let details = json!({"step": park.step, "waits_for": park.join, "children": children});
        self.tell(asked, EventKind::Delegated, attempt, details);
    }

    /// Nobody works on it until others have answered.
    pub(super) fn tell_waiting(&self, asked: &Asked, attempt: Attempt) {
        self.tell(asked, EventKind::Waiting, attempt, Value::Null);
    }

    /// Nobody works on it until somebody has approved of it.
    pub(super) fn tell_approval_wanted(&self, asked: &Asked, attempt: Attempt) {
        let details = json!({"fingerprint": asked.fingerprint.to_string()});
        self.tell(asked, EventKind::ApprovalWanted, attempt, details);
    }

    /// An agent has carried out a decision.
    pub(super) fn tell_step(&self, asked: &Asked, attempt: Attempt, done: &Operation) {
        let decision: Option<Value> = serde_json::from_str(&done.decision).ok();
        let action = decision.as_ref().and_then(|it| it.get("action"));
        self.tell(asked, EventKind::Step, attempt, json!({"action": action}));
    }

    /// It is not to go on, since somebody cancelled it.
    pub(super) fn tell_cancelled(&self, asked: &Asked, attempt: Attempt) {
        self.tell_if_eventful(asked, EventKind::Cancelled, attempt, || Value::Null);
    }

    /// Its result is published.
    pub(super) fn tell_done(&self, asked: &Asked, attempt: Attempt, code: Option<ErrorCode>) {
        self.tell_if_eventful(asked, EventKind::Done, attempt, || match code {
            None => json!({"status": "ok"}),
            Some(code) => json!({"status": "error", "code": code}),
        });
    }

    fn tell_if_eventful(
        &self,
        asked: &Asked,
        kind: EventKind,
        attempt: Attempt,
        details: impl FnOnce() -> Value,
    ) {
        if asked.eventful {
            self.tell(asked, kind, attempt, details());
        }
    }

    /// Tells it unless nothing is to be told at all; `details` is an object, or nothing.
    pub(super) fn tell(&self, asked: &Asked, kind: EventKind, attempt: Attempt, details: Value) {
        if self.events == EventsOf::None {
            return;
        }
        let event = Event {
            kind,
            at: self.clock.now(),
            target: asked.key.target.clone(),
            request_id: asked.key.request.clone(),
            correlation_id: asked.correlation.clone(),
            attempt: Some(attempt.number()),
            details: object(details),
        };
        self.send(&event);
    }

    /// Either there is room at once, or it is dropped.
    fn send(&self, event: &Event) {
        let (correlation, request) = (&event.correlation_id, &event.request_id);
        let subject = self.subjects.event(correlation, request, event.kind);
        let sent = self.broker.broadcast(&subject, event.to_json().into());
        if !matches!(unconstrained(sent).now_or_never(), Some(Ok(()))) {
            self.metrics.event_dropped();
        }
    }
}

fn object(details: Value) -> Map<String, Value> {
    match details {
        Value::Object(details) => details,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}
