//! The world in which a caller is tested: a broker and a store in memory, and a clock moved by hand.

mod asking;
mod chains;
mod letters;
mod relaying;
mod standing;
mod waiting;

use std::{path::Path, time::Duration};

use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{
    fake::{FakeExchange, timed_out},
    *,
};
use crate::{
    broker::{Headers, PublishAck, ResultMessage},
    clock::{Chance, Clock, WallTime},
    contract::{
        CorrelationId, Draft, ErrorCode, Fingerprint, Header, InvocationResult, Lane, Outcome,
        RequestId, ResultError, Subjects, TimeoutSec,
    },
    policy::{Checked, LivePolicies},
    store::{
        AckToken, CancelAnswer, Claim, Claims as _, Commit, CommitAnswer, Nonce, RequestKey,
        SessionId, Sessions as _, twin::StoreTwin,
    },
};

const TIMEOUT: Duration = Duration::from_secs(10);
const GRACE: Duration = Duration::from_secs(3);

/// A caller with its policy, a fleet that serves `puruto-financial`, and a broker in memory.
struct World {
    exchange: FakeExchange,
    store: StoreTwin,
    session: SessionId,
    clock: Clock,
    client: Client<FakeExchange, StoreTwin>,
}

impl World {
    async fn new() -> Self {
        let (clock, chance) = (
            Clock::manual(WallTime::from_unix_millis(1_700_000_000_000)),
            Chance::seeded(7),
        );
        let store = StoreTwin::new(clock.clone());
        let session = SessionId::fresh(&chance);
        let served = ["puruto-financial".parse().unwrap()];
        store.open(&session, "w-1", &served).await.unwrap();
        let exchange = FakeExchange::new(clock.clone());
        let settings = Settings {
            subjects: Subjects::default(),
            policies: policies(),
            patience: Patience {
                grace: GRACE,
                read_back: Duration::from_secs(5),
            },
            clock: clock.clone(),
            chance,
        };
        Self {
            client: Client::new(exchange.clone(), store.clone(), settings),
            exchange,
            store,
            session,
            clock,
        }
    }

    async fn pending(&self, invocation: Invocation) -> Pending<FakeExchange> {
        match self.client.invoke(invocation).await {
            Ok(Invoked::Pending(pending)) => pending,
            other => panic!("{other:?}"),
        }
    }

    async fn refused(&self, invocation: Invocation) -> ResultError {
        match self.client.invoke(invocation).await {
            Ok(Invoked::Refused(result)) => error_of(result),
            other => panic!("{other:?}"),
        }
    }

    /// Claims the request as a worker does, and commits `result` if there is one.
    async fn work(&self, result: Option<&InvocationResult>) {
        let nonce = Nonce::fresh(&Chance::seeded(8));
        let now = WallTime::from_unix_millis(1_700_000_000_000);
        let claim = Claim {
            key: key(),
            correlation: correlation(),
            fingerprint: fingerprint(),
            session: self.session.clone(),
            nonce,
            ack: AckToken::new("ack"),
            deadline: crate::contract::Deadline::of(now, TIMEOUT, None),
        };
        self.store.claim(claim).await.unwrap();
        if let Some(result) = result {
            let commit = Commit {
                result: result.to_json().into(),
                ..Commit::default()
            };
            let (key, store) = (key(), &self.store);
            let committed = store.commit(&key, nonce, commit);
            assert_eq!(committed.await.unwrap(), CommitAnswer::Committed);
        }
    }
}

fn policies() -> LivePolicies {
    let text = json!({
        "enabled": true, "owner": "puruto-reservations", "default_timeout_sec": 10,
        "allowed_targets": ["puruto-financial", "puruto-nowhere"],
    });
    let caller = "puruto-reservations".parse().unwrap();
    let bytes = text.to_string();
    let checked = Checked::parse(&caller, Path::new("p"), bytes.as_bytes()).unwrap();
    LivePolicies::fixed([checked.policy].into_iter().collect())
}

fn request() -> RequestId {
    "r-1".parse().unwrap()
}

fn correlation() -> CorrelationId {
    "c-1".parse().unwrap()
}

fn key() -> RequestKey {
    RequestKey {
        target: "puruto-financial".parse().unwrap(),
        request: request(),
    }
}

fn to(target: &str) -> Invocation {
    let [caller, target] = ["puruto-reservations", target].map(|it| it.parse().unwrap());
    Invocation {
        request_id: Some(request()),
        correlation_id: Some(correlation()),
        ..Invocation::new(caller, target, "pay_invoice".parse().unwrap(), "pay #123")
    }
}

fn invocation() -> Invocation {
    to("puruto-financial")
}

/// The fingerprint of [`invocation`].
fn fingerprint() -> Fingerprint {
    let prepared = invocation().prepare(&Clock::system(), &Chance::seeded(1));
    prepared.fingerprint
}

fn done(summary: &str) -> InvocationResult {
    InvocationResult {
        request_id: request(),
        correlation_id: correlation(),
        duration: Duration::from_millis(5),
        outcome: Outcome::Ok(json!({ "summary": summary })),
    }
}

fn message(subject: String, fingerprint: Fingerprint, result: &InvocationResult) -> ResultMessage {
    let mut headers = Headers::new();
    headers.push(Header::Fingerprint, &fingerprint.to_string());
    headers.push(Header::Target, "puruto-financial");
    headers.push(Header::Attempt, "2");
    ResultMessage {
        subject,
        headers,
        body: result.to_json().into(),
    }
}

/// The result of [`invocation`] at its place.
fn ours() -> ResultMessage {
    let place = Subjects::default().result(&correlation(), &request());
    message(place, fingerprint(), &done("ours"))
}

/// What another request with the same ids left at that place.
fn theirs() -> ResultMessage {
    let place = Subjects::default().result(&correlation(), &request());
    message(place, Fingerprint::of_bytes(b"other"), &done("theirs"))
}

fn summary_of(result: InvocationResult) -> String {
    match result.outcome {
        Outcome::Ok(value) => value["summary"].as_str().unwrap().to_owned(),
        Outcome::Error(error) => panic!("{error:?}"),
    }
}

fn error_of(result: InvocationResult) -> ResultError {
    match result.outcome {
        Outcome::Error(error) => error,
        Outcome::Ok(value) => panic!("{value}"),
    }
}
