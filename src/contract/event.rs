//! What happened to a request, for whoever wants to see it happen.
//!
//! Never: a promise, a prompt, an answer or a secret. An event can be missing, or come twice; the
//! result alone says what came out.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{CorrelationId, PurutoName, RequestId};
use crate::clock::WallTime;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A worker took it for the first time.
    Accepted,
    /// Its handler began, or went on.
    Started,
    /// It is executed again: the worker before did not come to an end.
    Retrying,
    /// It waits, and nobody works on it.
    Waiting,
    /// An agent carried out a decision.
    Step,
    /// It asks others.
    Delegated,
    /// Somebody cancelled it.
    Cancelled,
    /// It has its result.
    Done,
    /// It waits until somebody approves of it.
    ApprovalWanted,
}

impl EventKind {
    /// The last token of its subject.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Started => "started",
            Self::Retrying => "retrying",
            Self::Waiting => "waiting",
            Self::Step => "step",
            Self::Delegated => "delegated",
            Self::Cancelled => "cancelled",
            Self::Done => "done",
            Self::ApprovalWanted => "approval_wanted",
        }
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Something that happened to a request; goes to
/// `puruto.event.<correlation_id>.<request_id>.<kind>`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// What.
    pub kind: EventKind,
    /// When, RFC 3339.
    #[serde(with = "rfc3339")]
    #[schemars(with = "String")]
    pub at: WallTime,
    /// Who was asked.
    pub target: PurutoName,
    /// The request.
    pub request_id: RequestId,
    /// The chain to which it belongs.
    pub correlation_id: CorrelationId,
    /// Which execution, from 1; none before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// What else there is to say, by the kind.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

impl Event {
    /// The message on the wire.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("an event has only string keys and finite numbers")
    }
}

mod rfc3339 {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    use crate::clock::WallTime;

    pub(super) fn serialize<S: Serializer>(at: &WallTime, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(at)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<WallTime, D::Error> {
        let text = String::deserialize(from)?;
        let at = WallTime::parse_rfc3339(&text);
        at.ok_or_else(|| de::Error::custom(format_args!("{text:?} is no RFC 3339 time")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_reads_as_it_was_written() {
        let details = json!({"status": "ok"});
        let event = Event {
            kind: EventKind::Done,
            at: WallTime::from_unix_millis(1_780_000_000_250),
            target: "puruto-echo".parse().unwrap(),
            request_id: "req-1".parse().unwrap(),
            correlation_id: "corr-1".parse().unwrap(),
            attempt: Some(2),
            details: details.as_object().unwrap().clone(),
        };
        let written = event.to_json();
        let read: Value = serde_json::from_slice(&written).unwrap();
        let whole = json!({
            "kind": "done", "at": "2026-05-28T20:26:40.25Z", "target": "puruto-echo",
            "request_id": "req-1", "correlation_id": "corr-1", "attempt": 2,
            "details": {"status": "ok"},
        });
        assert_eq!(read, whole);
        assert_eq!(serde_json::from_slice::<Event>(&written).unwrap(), event);
    }

    #[test]
    fn a_kind_reads_in_json_as_in_its_subject() {
        for kind in [
            EventKind::Accepted,
            EventKind::Started,
            EventKind::Retrying,
            EventKind::Waiting,
            EventKind::Step,
            EventKind::Delegated,
            EventKind::Cancelled,
            EventKind::Done,
            EventKind::ApprovalWanted,
        ] {
            assert_eq!(json!(kind), json!(kind.as_str()));
        }
    }

    #[test]
    fn what_has_no_readable_time_is_no_event() {
        let event = json!({
            "kind": "done", "at": "noon", "target": "a", "request_id": "r", "correlation_id": "c",
        });
        assert!(serde_json::from_value::<Event>(event).is_err());
    }
}
