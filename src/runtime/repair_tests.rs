//! Scripted answers of the wrong form on a paused clock, and what becomes of them.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::{
    clock::{Chance, Clock},
    contract::ErrorCode,
    runtime::{
        Shared,
        calls_made::CallsMade,
        config::ProviderConfig,
        contract::{AnswerSchema, AnswerShape},
    },
};

/// Answers with `first`, and with `second` once it is told that the first will not do.
fn model(first: &str, second: &str, more: &str) -> ProviderConfig {
    let table = format!(
        "provider = \"simulated\"\nanswer = '{first}'\n\
         [[rules]]\nwhen = \"Answer again\"\nanswer = '{second}'\n{more}"
    );
    toml::from_str(&table).expect("well formed")
}

fn repairing(model: &ProviderConfig, repair: Repair) -> Repairing {
    let shared = Shared::new(Clock::system(), Chance::seeded(3), Arc::new(()));
    let routes = Routes::open(model, &[], |_| None, &shared).expect("complete");
    Repairing::new(routes, repair)
}

fn call() -> ModelCall {
    let source = json!({"properties": {"cents": {"type": "integer"}}, "required": ["cents"]});
    let schema = AnswerSchema::compile(source).expect("a schema");
    ModelCall {
        answer: AnswerShape::Schema(schema),
        ..ModelCall::new(
            "r-1".parse().expect("valid"),
            "simulated".parse().expect("valid"),
            vec![Message::user("how much?")],
            Instant::now() + Duration::from_secs(60),
        )
    }
}

fn told(failed: &CallFailed) -> Vec<String> {
    let violations = failed.fault.violations().expect("violations").iter();
    violations.map(ToString::to_string).collect()
}

const GOOD: &str = "{\"cents\": 5}";
const WRONG: &str = "{\"cents\": \"5\"}";
const PROSE: &str = "five cents";

#[tokio::test(start_paused = true)]
async fn a_model_that_is_told_what_is_wrong_may_correct_it_once() {
    for first in [WRONG, PROSE] {
        let model = repairing(&model(first, GOOD, ""), Repair::Once);
        let answer = model.call(&call()).await.expect("an answer");
        assert_eq!(answer.json.as_deref(), Some(&json!({"cents": 5})));
        assert_eq!(answer.metadata["repaired"], true);
        // Four bytes a token: the second question repeats the first and the first answer.
        let alone = ("how much?".len() + first.len()).div_ceil(4);
        let alone = u64::try_from(alone).expect("small");
        assert!(answer.usage.total_tokens > 2 * alone, "{:?}", answer.usage);
    }
}

#[tokio::test(start_paused = true)]
async fn no_model_is_asked_again_unless_that_is_wanted_and_needed() {
    let never = repairing(&model(WRONG, GOOD, ""), Repair::Never);
    let failed = never.call(&call()).await.expect_err("the wrong form");
    assert_eq!(failed.attempts, 1);
    let needless = repairing(&model(GOOD, PROSE, ""), Repair::Once);
    let answer = needless.call(&call()).await.expect("an answer");
    assert!(!answer.metadata.contains_key("repaired"));
}

#[tokio::test(start_paused = true)]
async fn a_second_answer_that_is_wrong_too_is_final_and_its_violations_are_told() {
    let model = repairing(&model(PROSE, WRONG, ""), Repair::Once);
    let failed = model.call(&call()).await.expect_err("the wrong form");
    assert_eq!(failed.attempts, 2);
    let expected = "content.cents: expected integer, got a string of 1 characters";
    assert_eq!(told(&failed), [expected]);
    let error = failed.to_result_error();
    assert_eq!(error.code, ErrorCode::InvalidResponse);
    assert_eq!(error.details.expect("details")["attempts"], 2);
}

#[tokio::test(start_paused = true)]
async fn a_correction_that_never_comes_leaves_the_first_answer_to_be_told() {
    let down = "errors = [\"400\"]";
    let model = repairing(&model(WRONG, GOOD, down), Repair::Once);
    let failed = model.call(&call()).await.expect_err("the wrong form");
    assert_eq!(failed.attempts, 2);
    assert_eq!(told(&failed).len(), 1);
    let late = repairing(&self::model(WRONG, GOOD, "latency = \"1h\""), Repair::Once);
    let failed = late.call(&call()).await.expect_err("late");
    assert_eq!(failed.to_result_error().code, ErrorCode::Timeout);
}

#[tokio::test(start_paused = true)]
async fn the_correction_is_counted_as_a_call_of_its_own() {
    let made = CallsMade::default();
    let model = repairing(&model(WRONG, GOOD, "errors = [\"503\"]"), Repair::Once);
    let mut counted = call();
    counted.made = made.count(0);
    model.call(&counted).await.expect("an answer");
    assert_eq!(made.to_string(), "1,0,0,0,0,0,0,0,2");
}

#[tokio::test]
async fn the_model_is_shown_what_it_said_and_each_violation() {
    let failed = repairing(&model(WRONG, GOOD, ""), Repair::Never);
    let failed = failed.call(&call()).await.expect_err("the wrong form");
    let Fault::Unfit(unfit) = failed.fault else {
        panic!("{failed:?}")
    };
    let again = asked_again(&call(), &unfit);
    let said: Vec<_> = again.messages.iter().map(|it| &*it.content).collect();
    let correction = "Your answer does not have the form that was asked for:\n\
                      - content.cents: expected integer, got a string of 1 characters\n\
                      Answer again with the corrected JSON alone.";
    assert_eq!(said, ["how much?", WRONG, correction]);
}

#[test]
fn repairs_are_none_or_one() {
    assert_eq!(Repair::try_from(0), Ok(Repair::Never));
    assert_eq!(Repair::try_from(1), Ok(Repair::Once));
    let said = Repair::try_from(2).expect_err("too many").to_string();
    assert_eq!(said, "expected 0 or 1, got 2");
}
