//! What a client is told while it waits.

use serde_json::json;
use tokio::time::advance;

use super::*;
use crate::{
    clock::WallTime,
    contract::{Deadline, Outcome, TokenMessage, True},
    gateway::executions::Phase,
    store::RequestKey,
};

const AT: WallTime = WallTime::from_unix_millis(1_780_000_000_000);

fn execution() -> Execution {
    Execution {
        key: RequestKey {
            target: "bank".parse().expect("a name"),
            request: "r-1".parse().expect("an id"),
        },
        correlation: "c-1".parse().expect("an id"),
        skill: "bank__pay".into(),
        fingerprint: "0".repeat(32).parse().expect("a fingerprint"),
        created: AT,
        deadline: Deadline::of(AT, Duration::from_secs(60), None),
    }
}

fn running(wants_approval: bool) -> State {
    State {
        phase: Phase::Running,
        wants_approval,
        ..State::ACCEPTED
    }
}

fn ended() -> State {
    State {
        phase: Phase::Ended(Outcome::Ok(json!({"summary": "paid"}))),
        ..State::ACCEPTED
    }
}

#[test]
fn each_state_is_told_once_and_the_id_first() {
    let (execution, mut narrator) = (execution(), Narrator::default());
    let mut told = Vec::new();
    for state in [
        State::ACCEPTED,
        State::ACCEPTED,
        running(false),
        running(true),
        running(true),
        running(false),
        ended(),
    ] {
        told.extend(narrator.states(&execution, &state));
    }
    let waiting = "waiting until somebody approves of it";
    assert_eq!(told, ["accepted as execution r-1", "running", waiting]);
    let mut heard_first = Narrator::default();
    heard_first.states(&execution, &State::ACCEPTED);
    assert_eq!(heard_first.runs(), Some("running"));
    let told = heard_first.states(&execution, &State::ACCEPTED);
    assert_eq!((told.len(), heard_first.runs()), (0, None));
    let mut late = Narrator::default();
    let told = late.states(&execution, &ended());
    assert_eq!(told, ["accepted as execution r-1"]);
}

#[test]
fn what_happens_on_the_way_is_told_without_who_works_on_it() {
    let event = |kind, details: Value| Event {
        kind,
        at: AT,
        target: "bank".parse().expect("a name"),
        request_id: "r-1".parse().expect("an id"),
        correlation_id: "c-1".parse().expect("an id"),
        attempt: Some(1),
        details: details.as_object().expect("an object").clone(),
    };
    let step = json!({"worker": "w-1", "step": 2, "action": "search"});
    let step = line_of(&event(EventKind::Step, step));
    assert_eq!(step.as_deref(), Some("step step=2 action=search"));
    assert_eq!(line_of(&event(EventKind::Done, json!({}))), None);
}

fn says(says: Says) -> Heard {
    Heard::Says(TokenMessage { index: 0, says })
}

fn content(text: &str) -> Heard {
    says(Says::Content(text.to_owned()))
}

#[tokio::test(start_paused = true)]
async fn pieces_of_an_answer_that_come_together_are_told_together() {
    let mut words = Words::default();
    assert_eq!(words.hear(content("one ")), None);
    assert_eq!(words.hear(says(Says::Reasoning("hm".to_owned()))), None);
    assert_eq!(words.hear(content("two")), None);
    assert_eq!(words.due(Instant::now()), None);
    advance(WORDS_WITHIN).await;
    assert_eq!(words.due(Instant::now()).as_deref(), Some("one two"));
    assert_eq!(words.due(Instant::now()), None);

    let long = "x".repeat(WORDS_BYTES);
    assert_eq!(words.hear(content(&long)), Some(long));
    words.hear(content("never "));
    let restart = words.hear(says(Says::Restart(True)));
    assert_eq!(restart.as_deref(), Some("the answer starts again"));
    words.hear(content("three"));
    assert_eq!(words.hear(says(Says::Done(True))).as_deref(), Some("three"));
    assert_eq!(words.hear(says(Says::Done(True))), None);
    assert_eq!(words.hear(Heard::Gap), None);
}
