//! What is shown of workers and targets, without a broker.

use serde_json::json;

use super::{
    targets::{Deliveries, Targets},
    workers::Workers,
    *,
};
use crate::{broker::nats::LaneBacklog, clock::WallTime, contract::Lane};

fn report(worker: &str, free: usize) -> WorkerReport {
    WorkerReport {
        worker: worker.to_owned(),
        host: "here\u{1b}[2J".to_owned(),
        session: Some("s".to_owned()),
        session_age_ms: Some(61_500),
        in_flight: 3,
        slots: 4,
        free,
        last_error: Some("nats timed_out".to_owned()),
        last_error_age_ms: Some(2_000),
    }
}

fn lane(target: &str, lane: Lane, queued: u64, delivered: u64) -> LaneBacklog {
    LaneBacklog {
        target: target.parse().unwrap(),
        lane,
        queued,
        running: 1,
        delivered,
        oldest: (queued > 0).then(|| WallTime::from_unix_millis(1_000 * queued)),
    }
}

fn both(worker: &str) -> Vec<(String, WorkerReport)> {
    let of = |target: &str, free| (target.to_owned(), report(worker, free));
    vec![of("a", 4), of("b", 1)]
}

#[test]
fn a_worker_is_one_row_with_the_slots_of_all_its_targets() {
    let workers = Workers::of(vec![both("w1"), both("w2"), Vec::new()]);
    let shown = workers.to_json();
    let listed = shown["workers"].as_array().unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[1]["id"], "w2");
    assert_eq!(listed[0]["targets"], json!(["a", "b"]));
    assert_eq!(
        (&listed[0]["slots"], &listed[0]["slots_free"]),
        (&8.into(), &5.into())
    );
}

#[test]
fn a_person_reads_a_table_that_cannot_command_the_terminal() {
    let shown = table_of(&Workers::of(vec![both("w1")]));
    for part in [
        "worker",
        "w1",
        "a b",
        "5/8",
        "1m 1s",
        "nats timed_out, 2s ago",
    ] {
        assert!(shown.contains(part), "{part} in\n{shown}");
    }
    assert!(!shown.contains('\u{1b}'), "{shown}");
    assert_eq!(table_of(&Workers::of(Vec::new())), "none");
}

#[test]
fn a_target_is_one_row_with_its_lanes_and_the_age_of_its_oldest_request() {
    let lanes = [
        lane("a", Lane::High, 2, 0),
        lane("a", Lane::Low, 5, 0),
        lane("c", Lane::Normal, 0, 0),
    ];
    let now = WallTime::from_unix_millis(10_000);
    let shown = Targets::of(&lanes, &[both("w1"), both("w2")], now).to_json();
    let [a, b, c] = &shown["targets"].as_array().unwrap()[..] else {
        panic!("{shown}");
    };
    assert_eq!(a["queued"], json!({"high": 2, "normal": 0, "low": 5}));
    assert_eq!((&a["running"], &a["oldest_ms"]), (&2.into(), &8_000.into()));
    assert_eq!((&b["target"], &b["workers"]), (&"b".into(), &2.into()));
    assert_eq!((&c["workers"], &c["oldest_ms"]), (&0.into(), &Value::Null));
}

#[test]
fn the_rate_is_that_of_all_lanes_between_two_readings() {
    let lanes = |delivered| {
        [
            lane("a", Lane::High, 0, delivered),
            lane("a", Lane::Low, 0, 4),
        ]
    };
    let earlier = Deliveries::of(&lanes(10));
    let mut now = Deliveries::of(&lanes(16));
    now.at = earlier.at + Duration::from_secs(2);
    let mut targets = Targets::of(&lanes(16), &[both("w1")], WallTime::from_unix_millis(0));
    targets.rate(&earlier, &now);
    let shown = targets.to_json();
    assert_eq!(shown["targets"][0]["deliveries_per_second"], 3.0);
    assert_eq!(shown["targets"][1]["deliveries_per_second"], Value::Null);
}
