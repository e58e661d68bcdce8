//! How a request stands, in a word.

use std::time::Duration;

use crate::{
    client::Node,
    contract::Outcome,
    store::{Record, RecordState, kin::WaitsOn},
};

/// How a record says that its request stands.
#[must_use]
pub const fn record_state(state: &RecordState) -> &'static str {
    match state {
        RecordState::Intended | RecordState::Released => "queued",
        RecordState::Flagged
        | RecordState::Held {
            cancelled: true, ..
        }
        | RecordState::Waiting {
            cancelled: true, ..
        } => "cancelling",
        RecordState::Held {
            owner_alive: true, ..
        } => "running",
        RecordState::Held {
            owner_alive: false, ..
        } => "orphaned",
        RecordState::Waiting {
            on: WaitsOn::Children,
            ..
        } => "waiting",
        RecordState::Waiting {
            on: WaitsOn::Verdict,
            ..
        } => "awaiting approval",
        RecordState::Done { .. } => "done",
    }
}

/// How a request of a chain stands; its error code behind it when it ended with one.
#[must_use]
pub fn node_state(node: &Node) -> String {
    if let Some(result) = &node.result {
        return match &result.outcome {
            Outcome::Ok(_) => "done ok".to_owned(),
            Outcome::Error(error) => format!("done {}", error.code.as_str()),
        };
    }
    let word = match node.record.as_ref().map(|it| &it.state) {
        None => "queued",
        Some(state) => record_state(state),
    };
    word.to_owned()
}

/// How long a request of a chain took or has taken, since a worker first claimed it.
#[must_use]
pub fn node_time(node: &Node) -> Option<Duration> {
    let taken = node.result.as_ref().map(|it| it.duration);
    let claimed = |record: &Record| record.first_claimed.map(|_| record.age);
    taken.or_else(|| node.record.as_ref().and_then(claimed))
}
