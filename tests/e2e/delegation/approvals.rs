//! An action that a person has to allow waits for that person, whatever becomes of the workers.

use puruto_fleet::{
    clock::Chance,
    contract::Fingerprint,
    store::{
        RequestKey, Waits as _,
        kin::{Verdict, VerdictAnswer},
        redis::{RedisOptions, RedisStore},
    },
};
use serde_json::Value;

use super::{answer, until_at_rest, until_it_waits};
use crate::{
    fleet::Fleet,
    wire::{RESULTS, Wire, request},
    worker::Worker,
};

const CLERK: (&str, &str) = (
    "clerk",
    "concurrency = 1\nactions = [{ name = \"do\", approval = true }]\n\
     [model]\nprovider = \"simulated\"",
);

/// A request that waits for a verdict.
struct Desk {
    fleet: Fleet,
    worker: Worker,
    wire: Wire,
    asked: Value,
}

impl Desk {
    async fn waiting(timeout_sec: u64) -> Self {
        let fleet = Fleet::of(&[CLERK]).await;
        let worker = fleet.worker("w1").await;
        let wire = fleet.wire().await;
        let mut asked = request("r-1", "clerk", "Pay 50 EUR");
        asked["timeout_sec"] = timeout_sec.into();
        wire.ask(&asked).await;
        until_it_waits(&fleet, &asked).await;
        until_at_rest(&worker, "clerk", 1).await;
        assert_eq!(worker.executions("clerk").await, 0);
        Self {
            fleet,
            worker,
            wire,
            asked,
        }
    }

    /// Decides as a person at a terminal does.
    async fn decide(&self, verb: &str) {
        let words = [verb, "r-1", "--by", "Ana", "--note", "seen"];
        let decided = self.fleet.puruto(&words).await;
        assert_eq!(decided.code, 0, "{decided:?}");
    }

    async fn answer(&self) -> Value {
        let answer = answer(&self.wire, &self.asked).await;
        self.wire.until_all_is_done().await;
        assert_eq!(self.wire.messages(RESULTS).await, 1);
        answer
    }
}

#[tokio::test]
async fn what_is_approved_runs_once_though_every_worker_was_replaced_meanwhile() {
    let mut desk = Desk::waiting(120).await;
    desk.worker.drain().await;
    let second = desk.fleet.worker("w2").await;
    until_it_waits(&desk.fleet, &desk.asked).await;
    second.kill().await;

    desk.decide("approve").await;
    let third = desk.fleet.worker("w3").await;

    let result = desk.answer().await;
    assert_eq!(result["result"]["summary"], "Pay 50 EUR", "{result}");
    assert_eq!(third.executions("clerk").await, 1);
}

#[tokio::test]
async fn what_is_rejected_is_denied_and_never_runs() {
    let desk = Desk::waiting(120).await;

    desk.decide("reject").await;

    let result = desk.answer().await;
    assert_eq!(result["error"]["code"], "DENIED", "{result}");
    assert_eq!(result["error"]["details"]["rejected_by"], "Ana");
    assert_eq!(desk.worker.executions("clerk").await, 0);
}

#[tokio::test]
async fn a_verdict_about_another_payload_is_none_and_the_deadline_holds() {
    let desk = Desk::waiting(6).await;

    let key = RequestKey {
        target: "clerk".parse().expect("a name"),
        request: "r-1".parse().expect("an id"),
    };
    let verdict = Verdict {
        approved: true,
        by: "Ana".to_owned(),
        note: None,
        fingerprint: Fingerprint::of_bytes(b"Pay 5000 EUR"),
    };
    let url = desk.fleet.servers.redis.url().parse();
    let options = RedisOptions::new(url.expect("a valid address"));
    let store = RedisStore::connect(options, Chance::system()).await;
    let decided = store.expect("a store").decide(&key, &verdict).await;
    assert_eq!(decided.expect("an answer"), VerdictAnswer::Mismatch);

    let result = desk.answer().await;
    assert_eq!(result["error"]["code"], "TIMEOUT", "{result}");
    assert_eq!(desk.worker.executions("clerk").await, 0);
}
