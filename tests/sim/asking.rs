//! A handler that asks others, and what its story has to end in.

use puruto_fleet::{
    contract::{ChildRequest, Delegation, Join, ResultError, Step},
    handler::{Context, Ended, delegating::ChildOutcome},
};
use serde_json::{Value, json};

use crate::world::target;

/// The prompt of a request that asks two others before it answers.
pub const ASKS: &str = "ask two others";

/// How the ids of whoever waits are told from those of the others: it has the story's own id.
const CHILDREN: [&str; 2] = ["pay one", "pay two"];

/// One turn of a request that asks two others: it plans, or it answers with what they said.
pub async fn ask_or_answer(context: &Context) -> Result<Ended, ResultError> {
    let step = Step::new(0);
    let Some(outcomes) = context.delegating.outcome(step).await else {
        let plan = context.delegating.plan(delegation(step));
        return Ok(Ended::Delegate(plan.map_err(|it| it.to_result_error())?));
    };
    let said: Vec<Value> = outcomes.iter().map(ChildOutcome::to_observation).collect();
    Ok(Ended::Answer(
        json!({"summary": "both were asked", "children": said}),
    ))
}

fn delegation(step: Step) -> Delegation {
    let children = CHILDREN.map(|prompt| ChildRequest {
        target: target(),
        action: "pay_invoice".parse().expect("a name"),
        prompt: prompt.to_owned(),
        timeout_sec: None,
        budget: None,
    });
    Delegation {
        step,
        children: children.into(),
        join: Join::All,
    }
}

/// Holds the answer of such a request: each child answered once, and its answer came back.
pub fn check_answer(result: &Value, told: &str) {
    let children = result["result"]["children"].as_array();
    let children = children.unwrap_or_else(|| panic!("{told}: {result}"));
    assert_eq!(children.len(), CHILDREN.len(), "{told}: {result}");
    for child in children {
        assert_eq!(child["status"], "ok", "{told}: {child}");
        let said = child["result"]["summary"].as_str().expect("a summary");
        assert!(said.starts_with("execution "), "{told}: {child}");
    }
}
