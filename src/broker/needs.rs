//! What a worker needs to be permitted, as data: each subject, why, and how to try it unharmed.
//!
//! Never: a call to the broker; `nats::canary` tries what stands here. Streams and consumers are
//! created and updated under further subjects, which only the first worker of a fleet needs.

use std::fmt;

use super::{
    names::{ConsumerName, StreamName},
    topology::kv_stream,
};
use crate::contract::{Lane, PurutoName, Subjects};

/// An inbox that nobody has.
const NO_INBOX: &str = "_INBOX.puruto-canary";

/// The last sequence that there could be in a stream.
const NEVER: i64 = i64::MAX;

/// A permission that a worker cannot do without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) subject: String,
    pub(super) why: &'static str,
    pub(super) trial: Trial,
}

/// How a permission is tried without an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trial {
    /// Published with this body, which is answered with an error or a report.
    Ask(&'static [u8]),
    /// Published for a stream that is not there, so that none stores it.
    Store,
    /// Subscribed to.
    Hear,
}

impl Trial {
    pub(super) const fn is_stored(self) -> bool {
        matches!(self, Self::Store)
    }

    pub(super) const fn is_heard(self) -> bool {
        matches!(self, Self::Hear)
    }

    /// What the server has to permit.
    const fn verb(self) -> &'static str {
        match self {
            Self::Ask(_) | Self::Store => "publish to",
            Self::Hear => "subscribe to",
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.trial.verb(), self.subject, self.why)
    }
}

/// Not JSON: what is asked with it is refused.
const NONSENSE: Trial = Trial::Ask(b"{");
const EMPTY: Trial = Trial::Ask(b"");

/// What a worker needs that serves `targets`.
pub(super) fn of_worker(subjects: &Subjects, targets: &[PurutoName]) -> Vec<Need> {
    let mut needs = of_every_worker(subjects);
    for target in targets {
        for lane in Lane::ALL {
            needs.extend(of_lane(subjects, target, lane));
        }
        let letters = format!("{}.dlq.{target}", subjects.prefix());
        needs.push(need(
            letters,
            "to keep what cannot be answered",
            Trial::Store,
        ));
    }
    needs
}

fn of_every_worker(subjects: &Subjects) -> Vec<Need> {
    let prefix = subjects.prefix();
    // Two, since who hears a subject would have to answer it.
    let [asked, heard] = ["canary", "canary-too"].map(|it| subjects.control_session(it));
    let published = format!("{prefix}.result.canary.canary");
    let told = format!("{prefix}.token.canary.canary");
    let happened = format!("{prefix}.event.canary.canary.canary");
    let remembered = format!("$KV.{}.epoch", StreamName::fleet(subjects).as_str());
    let drained = subjects.control_drain("canary");
    let mut needs = of_the_streams(subjects);
    needs.extend([
        need(remembered, "to remember the epoch", Trial::Store),
        need(published, "to publish results", Trial::Store),
        need(told, "to tell an answer while it is written", EMPTY),
        need(happened, "to tell what happens to requests", Trial::Store),
        need(NO_INBOX.to_owned(), "to answer who asks by request", EMPTY),
        need(asked, "to ask whether a worker lives", EMPTY),
        need(heard, "to be known to live", Trial::Hear),
        need(subjects.control_cancel(), "to hear cancels", Trial::Hear),
        need(drained, "to be told to drain", Trial::Hear),
    ]);
    needs
}

fn of_the_streams(subjects: &Subjects) -> Vec<Need> {
    let prefix = subjects.prefix();
    let requests = StreamName::invoke(subjects);
    let results = StreamName::results(subjects);
    let letters = StreamName::dead_letters(subjects);
    let events = StreamName::events(subjects);
    let (requests, results) = (requests.as_str(), results.as_str());
    let bucket = StreamName::fleet(subjects);
    let (bucket, kept) = (bucket.as_str(), kv_stream(&bucket));
    let ask = |call: String, why| need(format!("$JS.API.{call}"), why, EMPTY);
    let check = |name: &str| ask(format!("STREAM.INFO.{name}"), "to check the streams");
    let read =
        |stream: &str, subject: String, why| ask(format!("DIRECT.GET.{stream}.{subject}"), why);
    vec![
        check(requests),
        check(results),
        check(letters.as_str()),
        check(events.as_str()),
        check(&kept),
        ask(
            format!("STREAM.MSG.GET.{requests}"),
            "to read what no client can",
        ),
        ask(
            format!("STREAM.MSG.DELETE.{requests}"),
            "to remove what no client can read",
        ),
        ask(
            format!("STREAM.MSG.GET.{results}"),
            "to read what stands for a result",
        ),
        // No target's name begins so.
        ask(
            format!("CONSUMER.DELETE.{requests}._canary"),
            "to make a consumer anew that does not deliver",
        ),
        read(
            results,
            format!("{prefix}.result.canary.canary"),
            "to read a result",
        ),
        read(&kept, format!("$KV.{bucket}.epoch"), "to read the epoch"),
    ]
}

fn of_lane(subjects: &Subjects, target: &PurutoName, lane: Lane) -> [Need; 4] {
    let stream = StreamName::invoke(subjects);
    let consumer = ConsumerName::of(target, lane);
    let (stream, consumer) = (stream.as_str(), consumer.as_str());
    [
        need(
            format!("$JS.API.CONSUMER.INFO.{stream}.{consumer}"),
            "to check the consumer",
            EMPTY,
        ),
        need(
            format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"),
            "to pull requests",
            NONSENSE,
        ),
        // Of a delivery that never will be: there is nothing to make progress with.
        need(
            format!("$JS.ACK.{stream}.{consumer}.1.{NEVER}.0.0.0"),
            "to acknowledge requests",
            Trial::Ask(b"+WPI"),
        ),
        need(
            subjects.invoke(target, lane),
            "to publish requests for others",
            Trial::Store,
        ),
    ]
}

const fn need(subject: String, why: &'static str, trial: Trial) -> Need {
    Need {
        subject,
        why,
        trial,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_needs_its_own_lanes_and_no_others() {
        let clerk = "clerk".parse().unwrap();
        let needs = of_worker(&Subjects::default(), &[clerk]);
        let publishes = |subject: &str| {
            needs
                .iter()
                .any(|it| it.subject == subject && it.trial != Trial::Hear)
        };
        assert!(publishes(
            "$JS.ACK.PURUTO_INVOKE.clerk-high.1.9223372036854775807.0.0.0"
        ));
        assert!(publishes("$JS.API.CONSUMER.MSG.NEXT.PURUTO_INVOKE.clerk"));
        assert!(publishes("puruto.invoke.clerk.low"));
        assert!(publishes("puruto.dlq.clerk"));
        assert!(!needs.iter().any(|it| it.subject.contains('>')));
    }
}
