//! Streams and consumers as data: what the fleet needs the broker to have.
//!
//! Never: a call to the broker; `nats::reconcile` compares this with what is there.

use std::{num::NonZeroU8, time::Duration};

use serde_json::{Map, Value, json};

use super::names::{ConsumerName, StreamName};
use crate::contract::{Lane, PurutoName, Subjects};

/// How long a delivery may stay unsettled. Short, because it covers only the way from delivery to
/// claim; whoever runs a request says so again and again.
pub const ACK_WAIT: Duration = Duration::from_secs(15);

/// How long results are kept.
pub const RESULTS_MAX_AGE: Duration = Duration::from_secs(72 * 3600);

/// How long dead letters are kept.
const DEAD_LETTERS_MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

/// How long it is kept what happened to requests ...
const EVENTS_MAX_AGE: Duration = Duration::from_secs(24 * 3600);

/// ... and how many bytes of it at most: some 700,000 events. A server sets so much aside.
const EVENTS_MAX_BYTES: u64 = 256 << 20;

/// Within it a repeated message id stores nothing. A convenience: nothing rests on it.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(120);

/// Within it a message has one dead letter, however often it is buried: longer than a removal that
/// fails is tried again.
const DEAD_LETTERS_DUPLICATE_WINDOW: Duration = Duration::from_secs(24 * 3600);

/// Ends the redeliveries of a message that no client can read; attempts are counted elsewhere.
const MAX_DELIVER: u64 = 1_000;

/// Pull requests that may stand at one consumer; above it a server refuses further ones.
const MAX_WAITING: u64 = 4_096;

/// Where the broker keeps its streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// On disk.
    #[default]
    File,
    /// In memory: gone with the server.
    Memory,
}

/// What an operator chooses about the streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyOptions {
    /// Servers that hold each stream.
    pub replicas: NonZeroU8,
    /// Where they hold it.
    pub storage: Storage,
    /// Requests that may wait in one lane of one target before publishing is refused.
    pub backlog_cap: u64,
    /// How long results are kept.
    pub results_max_age: Duration,
    /// How long a delivery may go without a word before it is delivered elsewhere.
    pub ack_wait: Duration,
}

impl Default for TopologyOptions {
    fn default() -> Self {
        Self {
            replicas: NonZeroU8::MIN,
            storage: Storage::File,
            backlog_cap: 1_000_000,
            results_max_age: RESULTS_MAX_AGE,
            ack_wait: ACK_WAIT,
        }
    }
}

/// The settings of a stream or consumer, named as the server names them.
pub(super) type Settings = Map<String, Value>;

/// A stream or consumer that has to be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) place: Place,
    pub(super) settings: Settings,
}

/// Which stream or consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Stream(Box<str>),
    Consumer {
        stream: StreamName,
        name: ConsumerName,
        filter: Box<str>,
    },
}

/// Every stream of the fleet.
pub(super) fn streams(subjects: &Subjects, options: &TopologyOptions) -> Vec<Wanted> {
    let bucket = StreamName::fleet(subjects);
    vec![
        requests(subjects, options),
        results(subjects, options),
        dead_letters(subjects, options),
        events(subjects, options),
        stream(&kv_stream(&bucket), options, fleet(&bucket)),
    ]
}

/// The stream of requests, which has the consumers.
pub(super) fn requests(subjects: &Subjects, options: &TopologyOptions) -> Wanted {
    let name = StreamName::invoke(subjects);
    stream(name.as_str(), options, invoke(subjects, options))
}

/// The stream of results. One message a subject, and the first one stays: a result cannot be
/// replaced by anyone.
pub(super) fn results(subjects: &Subjects, options: &TopologyOptions) -> Wanted {
    let own = json!({
        "description": "one result a request",
        "subjects": [subjects.results_all()],
        "retention": "limits",
        "discard": "new",
        "discard_new_per_subject": true,
        "max_msgs_per_subject": 1,
        "max_age": nanos(options.results_max_age),
        "duplicate_window": nanos(DUPLICATE_WINDOW),
    });
    stream(StreamName::results(subjects).as_str(), options, own)
}

/// The stream of dead letters.
pub(super) fn dead_letters(subjects: &Subjects, options: &TopologyOptions) -> Wanted {
    let own = json!({
        "description": "requests that could not be answered, as they came",
        "subjects": [subjects.dead_letters_all()],
        "retention": "limits",
        "discard": "old",
        "max_age": nanos(DEAD_LETTERS_MAX_AGE),
        "duplicate_window": nanos(DEAD_LETTERS_DUPLICATE_WINDOW),
    });
    stream(StreamName::dead_letters(subjects).as_str(), options, own)
}

/// The stream of what happened to requests. Nothing rests on it: the oldest goes first.
fn events(subjects: &Subjects, options: &TopologyOptions) -> Wanted {
    let own = json!({
        "description": "what happened to requests",
        "subjects": [subjects.events_all()],
        "retention": "limits",
        "discard": "old",
        "max_age": nanos(EVENTS_MAX_AGE),
        "max_bytes": EVENTS_MAX_BYTES,
    });
    stream(StreamName::events(subjects).as_str(), options, own)
}

/// The stream behind a key-value bucket.
pub(super) fn kv_stream(bucket: &StreamName) -> String {
    format!("KV_{}", bucket.as_str())
}

/// The durable consumer of one lane.
pub(super) fn consumer(
    subjects: &Subjects,
    options: &TopologyOptions,
    target: &PurutoName,
    lane: Lane,
) -> Wanted {
    let name = ConsumerName::of(target, lane);
    let filter = subjects.invoke(target, lane);
    let settings = settings(json!({
        "name": name.as_str(),
        "durable_name": name.as_str(),
        "filter_subject": filter,
        "deliver_policy": "all",
        "ack_policy": "explicit",
        "replay_policy": "instant",
        "ack_wait": nanos(options.ack_wait),
        "max_ack_pending": -1,
        "max_deliver": MAX_DELIVER,
        "max_waiting": MAX_WAITING,
    }));
    let place = Place::Consumer {
        stream: StreamName::invoke(subjects),
        name,
        filter: filter.into(),
    };
    Wanted { place, settings }
}

fn stream(name: &str, options: &TopologyOptions, own: Value) -> Wanted {
    let mut settings = settings(own);
    settings.insert("name".into(), name.into());
    settings.insert("num_replicas".into(), options.replicas.get().into());
    let storage = match options.storage {
        Storage::File => "file",
        Storage::Memory => "memory",
    };
    settings.insert("storage".into(), storage.into());
    settings.insert("allow_direct".into(), true.into());
    Wanted {
        place: Place::Stream(name.into()),
        settings,
    }
}

/// Discards new, per subject: a flooded target is refused and takes nothing from the others.
fn invoke(subjects: &Subjects, options: &TopologyOptions) -> Value {
    json!({
        "description": "requests that wait for a worker",
        "subjects": [subjects.invoke_all()],
        "retention": "workqueue",
        "discard": "new",
        "discard_new_per_subject": true,
        "max_msgs_per_subject": options.backlog_cap,
        "duplicate_window": nanos(DUPLICATE_WINDOW),
    })
}

/// As a client's key-value API would make it, so that `nats kv` shows it.
fn fleet(bucket: &StreamName) -> Value {
    json!({
        "description": "what the fleet as a whole has to remember",
        "subjects": [format!("$KV.{}.>", bucket.as_str())],
        "retention": "limits",
        "discard": "new",
        "max_msgs_per_subject": 1,
        "allow_rollup_hdrs": true,
        "deny_delete": true,
    })
}

fn settings(value: Value) -> Settings {
    match value {
        Value::Object(settings) => settings,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Settings::new()
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
