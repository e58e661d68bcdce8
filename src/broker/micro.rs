//! The protocol by which NATS tools find services (ADR-32), as data: what a service says of itself.
//!
//! Never: a call to the broker; `nats::service` answers with what is here.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::clock::WallTime;

/// The name under which every worker is a service.
pub const WORKER_SERVICE: &str = "puruto-worker";

/// The queue group that shares out the requests to an endpoint, the protocol's usual one.
pub const QUEUE_GROUP: &str = "q";

/// What a service is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Whether it is there.
    Ping,
    /// What it serves.
    Info,
    /// What it has done.
    Stats,
}

impl Verb {
    /// Every verb.
    pub const ALL: [Self; 3] = [Self::Ping, Self::Info, Self::Stats];

    /// The verb's token in a subject.
    #[must_use]
    pub const fn token(self) -> &'static str {
        match self {
            Self::Ping => "PING",
            Self::Info => "INFO",
            Self::Stats => "STATS",
        }
    }

    const fn answer_type(self) -> &'static str {
        match self {
            Self::Ping => "io.nats.micro.v1.ping_response",
            Self::Info => "io.nats.micro.v1.info_response",
            Self::Stats => "io.nats.micro.v1.stats_response",
        }
    }

    /// Where every service of `name` is asked.
    #[must_use]
    pub fn subject(self, name: &str) -> String {
        format!("$SRV.{}.{name}", self.token())
    }
}

/// What a service says of an endpoint beyond its tally, read anew for each answer; it is given the
/// endpoint's name.
pub type Report = Box<dyn Fn(&str) -> Value + Send + Sync>;

/// A service of this process.
pub struct Service {
    /// Which kind of service; `[A-Za-z0-9_-]+`.
    pub name: &'static str,
    /// Which of them; one token.
    pub id: ServiceId,
    /// Of the program; semantic.
    pub version: &'static str,
    /// For people.
    pub description: &'static str,
    /// What does not change.
    pub metadata: BTreeMap<String, String>,
    /// Since when it is there.
    pub started: WallTime,
    /// What can be asked of it.
    pub endpoints: Vec<Arc<Endpoint>>,
    /// What changes; the `data` of each endpoint's statistics.
    pub report: Report,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Service({} {})", self.name, self.id.0)
    }
}

impl Service {
    /// Every subject under which it is asked, and what for.
    #[must_use]
    pub fn subjects(&self) -> Vec<(Verb, String)> {
        let of = |verb: Verb| {
            let (all, mine) = (format!("$SRV.{}", verb.token()), verb.subject(self.name));
            let only_me = format!("{mine}.{}", self.id.0);
            [all, mine, only_me].map(|subject| (verb, subject))
        };
        Verb::ALL.into_iter().flat_map(of).collect()
    }

    /// What it answers.
    #[must_use]
    pub fn answer(&self, verb: Verb) -> Value {
        let mut answer = json!({
            "type": verb.answer_type(),
            "name": self.name,
            "id": self.id.0,
            "version": self.version,
            "metadata": self.metadata,
        });
        let more = match verb {
            Verb::Ping => json!({}),
            Verb::Info => json!({
                "description": self.description,
                "endpoints": self.endpoints.iter().map(|it| it.info()).collect::<Value>(),
            }),
            Verb::Stats => json!({
                "started": self.started.to_string(),
                "endpoints": self.endpoints.iter().map(|it| self.stats(it)).collect::<Value>(),
            }),
        };
        if let (Some(answer), Value::Object(more)) = (answer.as_object_mut(), more) {
            answer.extend(more);
        }
        answer
    }

    /// The protocol has a `data` in each endpoint's statistics and none beside them.
    fn stats(&self, endpoint: &Endpoint) -> Value {
        let data = (self.report)(&endpoint.name);
        endpoint.stats(data)
    }
}

/// Names one service among those of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceId(Box<str>);

impl ServiceId {
    /// `name`, with what cannot stand in a subject's token replaced.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let clean = |c: char| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        };
        Self(name.chars().map(clean).collect())
    }
}

/// What can be asked of a service, and what was.
#[derive(Debug)]
pub struct Endpoint {
    name: String,
    subject: String,
    tally: Mutex<Tally>,
}

#[derive(Debug, Default)]
struct Tally {
    requests: u64,
    errors: u64,
    processing: Duration,
    last_error: String,
}

impl Endpoint {
    /// An endpoint of which nothing was asked yet.
    #[must_use]
    pub fn new(name: impl Into<String>, subject: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            subject: subject.into(),
            tally: Mutex::default(),
        }
    }

    /// Its subject.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// A request was answered after `took`, with this error if with one.
    pub fn answered(&self, took: Duration, error: Option<&str>) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.requests += 1;
        tally.processing += took;
        if let Some(error) = error {
            tally.errors += 1;
            error.clone_into(&mut tally.last_error);
        }
    }

    fn info(&self) -> Value {
        json!({
            "name": self.name, "subject": self.subject,
            "queue_group": QUEUE_GROUP, "metadata": {},
        })
    }

    fn stats(&self, data: Value) -> Value {
        let tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let nanos = u64::try_from(tally.processing.as_nanos()).unwrap_or(u64::MAX);
        json!({
            "name": self.name, "subject": self.subject, "queue_group": QUEUE_GROUP,
            "num_requests": tally.requests,
            "num_errors": tally.errors,
            "processing_time": nanos,
            "average_processing_time": nanos.checked_div(tally.requests).unwrap_or(0),
            "last_error": tally.last_error,
            "data": data,
        })
    }
}

/// What a service answered when it was asked for its statistics.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Stats {
    /// Which service.
    pub id: String,
    /// What does not change of it.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// What can be asked of it.
    #[serde(default)]
    pub endpoints: Vec<EndpointStats>,
}

/// What a service reports of an endpoint.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct EndpointStats {
    /// Which endpoint.
    pub name: String,
    /// What only services of its kind understand.
    #[serde(default)]
    pub data: Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> Service {
        Service {
            name: WORKER_SERVICE,
            id: ServiceId::of("host.local-1"),
            version: "0.1.0",
            description: "a worker",
            metadata: [("prefix".to_owned(), "puruto".to_owned())].into(),
            started: WallTime::from_unix_millis(0),
            endpoints: vec![Arc::new(Endpoint::new("echo", "puruto.rpc.echo"))],
            report: Box::new(|endpoint| json!({ "of": endpoint })),
        }
    }

    #[test]
    fn a_service_is_asked_with_all_with_its_kind_and_alone() {
        let subjects = service().subjects();
        let pings = subjects.iter().filter(|(verb, _)| *verb == Verb::Ping);
        let pings: Vec<_> = pings.map(|(_, subject)| subject.as_str()).collect();
        let mine = "$SRV.PING.puruto-worker.host_local-1";
        assert_eq!(pings, ["$SRV.PING", "$SRV.PING.puruto-worker", mine]);
        assert_eq!(subjects.len(), 9);
    }

    #[test]
    fn statistics_count_what_was_answered_and_hold_the_report() {
        let service = service();
        let endpoint = &service.endpoints[0];
        endpoint.answered(Duration::from_nanos(30), None);
        endpoint.answered(Duration::from_nanos(10), Some("DENIED"));
        let answer = service.answer(Verb::Stats);
        let shown = &answer["endpoints"][0];
        assert_eq!(answer["type"], "io.nats.micro.v1.stats_response");
        assert_eq!(
            (&shown["num_requests"], &shown["num_errors"]),
            (&2.into(), &1.into())
        );
        assert_eq!(shown["average_processing_time"], 20);
        assert_eq!(shown["last_error"], "DENIED");
        let read: Stats = serde_json::from_value(answer).unwrap();
        assert_eq!(read.endpoints[0].data, json!({ "of": "echo" }));
        assert_eq!(read.metadata["prefix"], "puruto");
    }

    #[test]
    fn every_answer_has_the_metadata_and_only_info_describes() {
        let service = service();
        for verb in Verb::ALL {
            let answer = service.answer(verb);
            assert_eq!(answer["metadata"]["prefix"], "puruto");
            assert_eq!(answer.get("description").is_some(), verb == Verb::Info);
        }
    }
}
