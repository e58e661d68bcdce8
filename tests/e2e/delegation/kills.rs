//! Chains whose workers die at every joint: nothing is lost, nothing comes twice, no model is
//! called again, and parents go on soon.
//!
//! `PURUTO_ROUNDS` says how many workers die, for a longer run than that of every day; what was
//! measured is printed.
//!
//! Seen elsewhere: hatchet #552, atomic #2604, pi-subagents #1263, LibreChat #14975, zeph #5944 and
//! #6010.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use puruto_fleet::{clock::Chance, handler::crash::CRASH_EXIT_CODE};
use serde_json::Value;
use tokio::time::sleep;

use super::{asking, child_of, let_all_ask};
use crate::{
    fleet::Fleet,
    patience::{as_often_as, within},
    records::Records,
    support::{
        asking::{ask, asker, child, leaves::Leaves},
        say,
    },
    wire::{Heard, INVOKE, RESULTS, Wire, json_of, place_of},
};

/// Where a worker is made to die; the last of them is wherever it is after a while.
const ROUNDS: [Option<&str>; 8] = [
    Some("after_park"),
    Some("amid_children"),
    Some("before_let_go"),
    Some("after_child_commit"),
    Some("before_wake"),
    Some("after_wake"),
    Some("after_resume"),
    None,
];

/// Chains that run at once.
const CHAINS: usize = 3;
/// Children of each level above the last.
const BRANCHES: u16 = 2;
/// Results of one chain: the head, its clerks, and the model's call below each.
const RESULTS_EACH: usize = 1 + 2 * BRANCHES as usize;
/// A worker that is killed dies within this of the requests: some chains are done by then.
const LIVES_AT_MOST: Duration = Duration::from_millis(1200);
const LATENCY: Duration = Duration::from_millis(40);
/// A survivor believes that a worker is dead when its own connection has been up for eight seconds.
const UNTIL_STEADY: Duration = Duration::from_secs(9);
/// After its child's commit a parent has answered; a machine that runs all the tests is slow.
const GOES_ON_WITHIN: Duration = Duration::from_secs(3);

/// A fleet whose workers die.
struct Theatre {
    fleet: Fleet,
    model: Leaves,
    wire: Wire,
    heard: Heard,
    records: Records,
    results: BTreeMap<String, Bytes>,
    chains: usize,
    /// From the commit of the last child to that of its parent.
    lags: Vec<Duration>,
    /// Executions that a death cost.
    again: u64,
}

impl Theatre {
    async fn open() -> Self {
        let model = Leaves::after(LATENCY).await;
        let purutos = [
            ("head", asker(2)),
            ("clerk", asker(2)),
            ("leaf", model.puruto(4)),
        ];
        let fleet = Fleet::of(&purutos.each_ref().map(|it| (it.0, it.1.as_str()))).await;
        let_all_ask(&fleet, &["head", "clerk", "leaf"]);
        let wire = fleet.wire().await;
        Self {
            heard: wire.listen("puruto.result.>").await,
            records: Records::connect(&fleet.servers.redis.url()).await,
            results: BTreeMap::new(),
            chains: 0,
            lags: Vec::new(),
            again: 0,
            fleet,
            model,
            wire,
        }
    }

    /// Begins some chains; their roots.
    async fn begin(&mut self) -> Vec<Value> {
        let mut roots = Vec::new();
        for _ in 0..CHAINS {
            let id = format!("r-{}", self.chains);
            self.chains += 1;
            let clerks: Vec<_> = (0..BRANCHES)
                .map(|it| child("clerk", ask(&[child("leaf", leaf(&id, it))])))
                .collect();
            let root = asking(&id, "head", &ask(&clerks));
            self.wire.ask(&root).await;
            roots.push(root);
        }
        roots
    }

    /// Hears until each chain has all of its results.
    async fn hear_all(&mut self) {
        while self.results.len() < self.chains * RESULTS_EACH {
            let message = self.heard.next().await;
            let before = self
                .results
                .insert(message.subject.to_string(), message.payload);
            assert_eq!(before, None, "{} was heard twice", message.subject);
        }
    }

    /// One worker dies at `point`, or at a moment that chance names, and another comes.
    async fn play(&mut self, number: u64, point: Option<&str>) -> Vec<Value> {
        let name = format!("doomed-{number}");
        let mut roots = Vec::new();
        let Some(point) = point else {
            let doomed = self.fleet.worker(&name).await;
            roots.extend(self.begin().await);
            let chance = Chance::seeded(number);
            let part = u64::try_from(chance.bits128() % 1_000).expect("a small number");
            sleep(LIVES_AT_MOST.mul_f64(part as f64 / 1_000.0)).await;
            doomed.kill().await;
            return roots;
        };
        let mut doomed = self.fleet.worker_with(&name, ("CRASH_AT", point)).await;
        let what = format!("a worker dies {point}");
        let status = within(&what, async {
            loop {
                roots.extend(self.begin().await);
                tokio::select! {
                    status = doomed.dies() => return status,
                    // Its colleague did all of it.
                    () = self.hear_all() => {}
                }
            }
        });
        let status = status.await;
        assert_eq!(status.code(), Some(i32::from(CRASH_EXIT_CODE)), "{point}");
        roots
    }

    /// Everybody has one result, the parents were told what was published, and no model was called
    /// again unless its own worker died with the call.
    async fn assert_whole(&mut self, roots: &[Value]) {
        self.hear_all().await;
        self.wire.until_all_is_done().await;
        for root in roots {
            let mut ends = Vec::new();
            for at in 0..BRANCHES {
                let clerk = child_of(root, at, "clerk");
                let call = child_of(&clerk, 0, "leaf");
                self.assert_told(&clerk, &[&call]).await;
                let clerks = self.done_at(&clerk).await;
                let calls = self.done_at(&call).await;
                self.goes_on(clerks, calls);
                self.assert_called_once(root, at, &call).await;
                ends.push((clerk, clerks));
            }
            let clerks: Vec<_> = ends.iter().map(|it| &it.0).collect();
            self.assert_told(root, &clerks).await;
            let last = ends.iter().map(|it| it.1).max().expect("children");
            let roots = self.done_at(root).await;
            self.goes_on(roots, last);
        }
        assert!(self.heard.nothing_more(&self.wire).await);
    }

    /// What stands under a request is what was heard, and says of its children what theirs say.
    async fn assert_told(&self, parent: &Value, children: &[&Value]) {
        let heard = self.result(parent);
        let stored = self.wire.stored(&place_of(parent)).await;
        let stored = stored.expect("a result").payload;
        assert_eq!(json_of(&stored), heard);
        assert_eq!(stored, self.results[&place_of(parent)]);
        assert_eq!(heard["status"], "ok", "{heard}");
        for (at, child) in children.iter().enumerate() {
            let told = &heard["result"]["children"][at]["result"];
            assert_eq!(told, &self.result(child)["result"], "{heard}");
        }
    }

    fn result(&self, request: &Value) -> Value {
        json_of(&self.results[&place_of(request)])
    }

    async fn done_at(&mut self, request: &Value) -> u64 {
        let (target, id) = names_of(request);
        let done = self.records.done_at(target, id).await;
        done.unwrap_or_else(|| panic!("{target}/{id} has no end"))
    }

    fn goes_on(&mut self, parent: u64, child: u64) {
        let lag = parent.checked_sub(child).expect("a parent ends later");
        self.lags.push(Duration::from_millis(lag));
    }

    async fn assert_called_once(&mut self, root: &Value, at: u16, call: &Value) {
        let (target, id) = names_of(call);
        let attempts = self.records.attempts(target, id).await;
        let made = self.model.calls(&leaf(names_of(root).1, at)).made as u64;
        assert!(
            (1..=attempts).contains(&made),
            "{id}: {made} calls in {attempts} executions"
        );
        self.again += attempts - 1;
    }

    /// Says how soon parents went on, and holds half of them to what was promised.
    fn tell(&mut self) {
        self.lags.sort();
        let lags = &self.lags;
        let at = |share: usize| lags[(lags.len() * share / 100).min(lags.len() - 1)];
        let (half, most, longest) = (at(50), at(99), at(100));
        say(&format!(
            "{} chains, {} parents done after their last child: p50 {half:?}, p99 {most:?}, \
             longest {longest:?}; model calls that a death repeated: {}",
            self.chains,
            lags.len(),
            self.again
        ));
        assert!(half < GOES_ON_WITHIN, "{lags:?}");
    }
}

fn leaf(id: &str, at: u16) -> String {
    format!("leaf {at} of {id}")
}

fn names_of(request: &Value) -> (&str, &str) {
    let text = |key: &str| request[key].as_str().expect("a text");
    (text("target"), text("request_id"))
}

#[tokio::test]
async fn chains_outlive_a_worker_that_dies_at_every_joint_each_with_one_result() {
    let mut theatre = Theatre::open().await;
    let _survivor = theatre.fleet.worker("survivor").await;
    sleep(UNTIL_STEADY).await;

    let rounds = as_often_as("PURUTO_ROUNDS", ROUNDS.len() as u64);
    for (number, point) in (0..rounds).zip(ROUNDS.iter().cycle()) {
        let roots = theatre.play(number, *point).await;
        let _other = theatre.fleet.worker(&format!("other-{number}")).await;
        theatre.assert_whole(&roots).await;
    }

    theatre.tell();
    assert_eq!(theatre.wire.messages(INVOKE).await, 0);
    let results = theatre.wire.messages(RESULTS).await;
    assert_eq!(results, (theatre.chains * RESULTS_EACH) as u64);
}
