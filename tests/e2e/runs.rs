//! The runs of agents, begun and worked on by hand: what a run comes to, and what is left of it
//! when its process dies.

use serde_json::{Value, json};

use crate::{fleet::Fleet, terminal::Ended};

const GOAL: &str = "api db 5433";

/// An agent whose decisions a policy makes, and the documents from which it finds out.
const AGENT: &str = "puruto-research";
const DECIDES: &str = "kind = \"agent\"\n[model]\nprovider = \"policy\"\n";
const DOCUMENTS: [(&str, &str); 3] = [
    (
        "incident.md",
        "# Incident\n\nThe api does not start: it tried to connect to db:5433.",
    ),
    (
        "network.md",
        "# Network\n\nInside, the db listens on 5432; port 5433 is the host's.",
    ),
    ("menu.md", "# Menu\n\nOn Fridays there is soup."),
];

async fn fleet() -> Fleet {
    let fleet = Fleet::of(&[(AGENT, DECIDES)]).await;
    for (name, text) in DOCUMENTS {
        fleet.document(AGENT, name, text);
    }
    fleet
}

/// With what a process ends that was made to die.
const CRASHED: i32 = 92;

async fn begun(fleet: &Fleet, id: &str) {
    let made = fleet.puruto(&["run", "new", id, GOAL]).await;
    assert_eq!(made.code, 0, "{made:?}");
}

async fn shown(fleet: &Fleet, id: &str) -> Value {
    let shown = fleet.puruto(&["run", "show", id, "--json"]).await;
    assert_eq!(shown.code, 0, "{shown:?}");
    shown.json()
}

/// What the specification's table counts.
fn counts(run: &Value) -> Value {
    json!([
        run["status"],
        run["step"],
        run["requests"],
        run["revision"],
        run["pending"]
    ])
}

/// How many reports were made.
fn reports(run: &Value) -> usize {
    let events = run["events"].as_array().expect("events");
    let reported = |event: &&Value| !event["payload"]["result"]["report_hash"].is_null();
    events.iter().filter(reported).count()
}

#[track_caller]
fn assert_complete(run: &Value) {
    assert_eq!(counts(run), json!(["completed", 4, 4, 12, null]), "{run}");
    assert_eq!(reports(run), 1, "{run}");
    let report = run["report"].as_str().expect("a report");
    assert_eq!(
        report.matches('[').count(),
        2,
        "two cited extracts: {report}"
    );
}

fn lines(ended: &Ended) -> Vec<Value> {
    let lines = ended.output.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[tokio::test]
async fn a_run_worked_on_by_hand_reports_after_four_steps_and_can_be_followed_by_its_id() {
    let fleet = fleet().await;
    begun(&fleet, "caso-1").await;
    let queued = shown(&fleet, "caso-1").await;
    assert_eq!(counts(&queued), json!(["queued", 0, 0, 0, null]));
    let why = fleet.puruto(&["why", "caso-1"]).await.json();
    assert_eq!(why["reasons"][0]["reason"], "no_worker", "{why}");

    let worked = fleet.puruto(&["run", "work", "caso-1"]).await;
    assert_eq!(worked.code, 0, "{worked:?}");
    let run = shown(&fleet, "caso-1").await;
    assert_complete(&run);
    let lines_shown = fleet.puruto(&["run", "show", "caso-1"]).await.output;
    assert!(lines_shown.contains("\n1 created "), "{lines_shown}");
    assert!(lines_shown.contains("decision.accepted"), "{lines_shown}");

    let why = fleet.puruto(&["why", "caso-1"]).await.json();
    assert_eq!(why["reasons"][0]["reason"], "done", "{why}");
    let told = fleet.puruto(&["events", "caso-1", "--follow"]).await;
    assert_eq!(told.code, 0, "{told:?}");
    let mut kinds: Vec<_> = lines(&told).iter().map(|it| it["kind"].clone()).collect();
    kinds.retain(|kind| kind != "step");
    assert_eq!(kinds, ["accepted", "started", "done"]);
    let tree = fleet.puruto(&["tree", "caso-1"]).await.json();
    assert_eq!(tree["requests"][0]["state"], "done ok", "{tree}");
    assert_eq!(tree["requests"][0]["spent"]["requests"], 4, "{tree}");
}

#[tokio::test]
async fn a_run_goes_on_where_its_process_died_and_asks_nothing_again() {
    let fleet = fleet().await;
    for point in ["after_plan", "inside_report", "after_commit"] {
        begun(&fleet, point).await;
        let died = fleet
            .puruto_with(&[("CRASH_AT", point)], &["run", "work", point])
            .await;
        assert_eq!(died.code, CRASHED, "{point}: {died:?}");
        let left = shown(&fleet, point).await;
        if point == "after_commit" {
            assert_complete(&left);
        } else {
            assert_eq!(left["status"], "running", "{left}");
            assert_eq!(left["pending"]["action"], "report", "{left}");
            assert_eq!(reports(&left), 0);
        }

        let worked = fleet.puruto(&["run", "work", point]).await;
        assert_eq!(worked.code, 0, "{point}: {worked:?}");
        let run = shown(&fleet, point).await;
        assert_complete(&run);
        if point == "after_commit" {
            assert_eq!(run, left);
        }
    }
}

#[tokio::test]
async fn a_runs_id_is_its_own_and_what_it_reported_is_not_undone() {
    let fleet = fleet().await;
    begun(&fleet, "caso-1").await;
    begun(&fleet, "caso-1").await;
    let other = fleet
        .puruto(&["run", "new", "caso-1", "another goal"])
        .await;
    assert_eq!(other.code, 2, "{other:?}");
    assert!(other.errors.contains(GOAL), "{other:?}");

    let cancelled = fleet.puruto(&["run", "cancel", "caso-1", "--json"]).await;
    assert!(cancelled.errors.contains("cancelled"), "{cancelled:?}");
    assert_eq!(cancelled.json()["status"], "cancelled");
    let worked = fleet.puruto(&["run", "work", "caso-1"]).await;
    assert_eq!(worked.code, 1, "{worked:?}");
    assert_eq!(shown(&fleet, "caso-1").await["requests"], 0);

    begun(&fleet, "caso-2").await;
    fleet.puruto(&["run", "work", "caso-2"]).await;
    let late = fleet.puruto(&["run", "cancel", "caso-2", "--json"]).await;
    assert!(late.errors.contains("was not active"), "{late:?}");
    assert_complete(&late.json());

    let nothing = fleet.puruto(&["run", "show", "caso-3"]).await;
    assert_eq!(nothing.code, 1, "{nothing:?}");
}
