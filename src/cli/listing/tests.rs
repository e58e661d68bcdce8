//! How workers are shown to a person.

use super::*;
use crate::{inspect::Workers, worker::WorkerReport};

fn both(worker: &str) -> Vec<(String, WorkerReport)> {
    let of = |target: &str, free| {
        let report = WorkerReport {
            worker: worker.to_owned(),
            host: "here\u{1b}[2J".to_owned(),
            session: Some("s".to_owned()),
            session_age_ms: Some(61_500),
            in_flight: 3,
            slots: 4,
            free,
            last_error: Some("nats timed_out".to_owned()),
            last_error_age_ms: Some(2_000),
        };
        (target.to_owned(), report)
    };
    vec![of("a", 4), of("b", 1)]
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
