//! A history, told event by event: of one request unless another is named.

use std::{collections::BTreeSet, time::Duration};

use super::TERMS;
use crate::{
    chaos::{
        checker::{Rule, Verdict, check},
        history::{At, CancelTold, ClaimId, Digest, Entry, Event, Expected, WorkerId},
        schedule::{Fault, Place},
    },
    contract::{ErrorCode, RequestId},
};

/// A history as it grows, of one request.
#[derive(Clone, Default)]
pub(super) struct Tale(Vec<Entry>);

impl Tale {
    pub(super) fn at(mut self, millis: u64, event: Event) -> Self {
        let at = At::of(Duration::from_millis(millis));
        let behind = self.0.partition_point(|it| it.at <= at);
        self.0.insert(behind, Entry { at, event });
        self
    }

    pub(super) fn without(mut self, unwanted: impl Fn(&Event) -> bool) -> Self {
        self.0.retain(|it| !unwanted(&it.event));
        self
    }

    pub(super) fn struck(
        self,
        (from, until): (u64, u64),
        fault: Fault,
        worker: Option<&str>,
    ) -> Self {
        let number = self.0.len();
        let worker = worker.map(WorkerId::new);
        let began = Event::FaultBegan {
            number,
            fault,
            worker,
        };
        self.at(from, began).at(until, Event::FaultEnded { number })
    }

    pub(super) fn killed(self, millis: u64, worker: &str) -> Self {
        let fault = Fault::KillWorker { place: Place(0) };
        self.struck((millis, millis + 100), fault, Some(worker))
    }

    pub(super) fn verdict(&self) -> Verdict {
        check(&self.0, &TERMS)
    }

    pub(super) fn broken(&self) -> BTreeSet<Rule> {
        let verdict = self.verdict();
        verdict.violations.iter().map(|it| it.rule).collect()
    }

    pub(super) fn breaks(&self, rules: &[Rule]) {
        let expected: BTreeSet<_> = rules.iter().copied().collect();
        assert_eq!(self.broken(), expected, "{:?}", self.verdict().violations);
    }
}

fn request() -> RequestId {
    "r-1".parse().expect("an id")
}

/// The same event of another request.
pub(super) fn of(request: &RequestId, event: &Event) -> Event {
    let mut value = serde_json::to_value(event).expect("an event is JSON");
    value["request"] = request.as_str().into();
    serde_json::from_value(value).expect("it stays an event")
}

pub(super) fn accepted() -> Event {
    Event::Accepted {
        request: request(),
        sent: At::default(),
        within: Duration::from_secs(60),
        expected: Expected::Done,
        sequence: 7,
    }
}

pub(super) fn claimed(worker: &str, claim: &str, millis: u64) -> Event {
    Event::Claimed {
        worker: WorkerId::new(worker),
        request: request(),
        claim: ClaimId::new(claim),
        granted: At::of(Duration::from_millis(millis)),
        attempt: 1,
    }
}

pub(super) fn started(worker: &str, claim: &str) -> Event {
    Event::Started {
        worker: WorkerId::new(worker),
        request: request(),
        claim: ClaimId::new(claim),
        origin: None,
    }
}

pub(super) fn committing(worker: &str, claim: &str) -> Event {
    Event::Committing {
        worker: WorkerId::new(worker),
        request: request(),
        claim: ClaimId::new(claim),
    }
}

pub(super) fn committed(worker: &str, claim: &str, digest: &str) -> Event {
    Event::Committed {
        worker: WorkerId::new(worker),
        request: request(),
        claim: ClaimId::new(claim),
        digest: Digest::new(digest),
    }
}

pub(super) fn refused(worker: &str, claim: &str) -> Event {
    Event::Refused {
        worker: WorkerId::new(worker),
        request: request(),
        claim: ClaimId::new(claim),
    }
}

pub(super) fn publishing(worker: &str, digest: &str) -> Event {
    Event::Publishing {
        worker: WorkerId::new(worker),
        request: request(),
        digest: Digest::new(digest),
    }
}

pub(super) fn published(worker: &str) -> Event {
    Event::Published {
        worker: WorkerId::new(worker),
        request: request(),
        own: true,
    }
}

pub(super) fn acked(worker: &str) -> Event {
    Event::Acked {
        worker: WorkerId::new(worker),
        request: request(),
    }
}

pub(super) fn heard(digest: &str) -> Event {
    Event::Heard {
        request: request(),
        digest: Digest::new(digest),
    }
}

pub(super) fn stands(digest: &str, code: Option<ErrorCode>) -> Event {
    Event::Stands {
        request: request(),
        digest: Digest::new(digest),
        code,
        kind: None,
    }
}

pub(super) fn flagged() -> Event {
    Event::CancelAsked {
        request: request(),
        told: CancelTold::Flagged,
    }
}
