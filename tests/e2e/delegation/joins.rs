//! A parent goes on once as many children have ended as it waits for; the rest is cancelled.

use std::time::Duration;

use serde_json::{Value, json};

use super::{answer, asking, child_of, let_all_ask};
use crate::{
    fleet::Fleet,
    patience::until,
    support::asking::{ask, asker, child, leaves::Leaves, policy},
    wire::RESULTS,
};

/// Asks these children in turn of somebody who answers at once or never, and waits for `join` of
/// them; the result, and what became of each child.
async fn joined(join: Value, children: &[&str]) -> (Value, Vec<Value>) {
    let quick = Leaves::after(Duration::ZERO).await;
    let slow = Leaves::held_back().await;
    let purutos = [
        ("clerk", asker(1)),
        ("quick", quick.puruto(4)),
        ("slow", slow.puruto(4)),
    ];
    let fleet = Fleet::of(&purutos.each_ref().map(|it| (it.0, it.1.as_str()))).await;
    let_all_ask(&fleet, &["clerk", "quick", "slow"]);
    let _worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let asked: Vec<_> = (0..)
        .zip(children)
        .map(|(at, target)| child(target, format!("leaf {at}")))
        .collect();
    let parent = asking("r-1", "clerk", &json!({"ask": asked, "join": join}));
    wire.ask(&parent).await;

    let result = answer(&wire, &parent).await;
    let mut ends = Vec::new();
    for (at, target) in (0..).zip(children) {
        ends.push(answer(&wire, &child_of(&parent, at, target)).await);
    }
    until("nobody listens to the slow model", async || {
        (slow.open() == 0).then_some(())
    })
    .await;
    wire.until_all_is_done().await;
    assert_eq!(wire.messages(RESULTS).await, children.len() as u64 + 1);
    (result, ends)
}

fn codes(ends: &[Value]) -> Vec<&Value> {
    ends.iter().map(|it| &it["error"]["code"]).collect()
}

#[tokio::test]
async fn a_parent_that_waits_for_any_goes_on_with_the_first_and_the_rest_is_cancelled() {
    let (result, ends) = joined(json!("any"), &["slow", "quick", "slow"]).await;

    let said = json!(["dropped", "leaf 1", "dropped"]);
    assert_eq!(result["result"]["said"], said, "{result}");
    assert_eq!(
        codes(&ends),
        [&json!("CANCELLED"), &Value::Null, &json!("CANCELLED")]
    );
}

#[tokio::test]
async fn a_parent_that_waits_for_two_of_three_goes_on_with_two_and_the_third_is_cancelled() {
    let (result, ends) = joined(json!(2), &["quick", "slow", "quick"]).await;

    let said = json!(["leaf 0", "dropped", "leaf 2"]);
    assert_eq!(result["result"]["said"], said, "{result}");
    assert_eq!(
        codes(&ends),
        [&Value::Null, &json!("CANCELLED"), &Value::Null]
    );
}

#[tokio::test]
async fn a_parent_hears_why_a_child_had_no_answer_and_goes_on() {
    let fleet = Fleet::of(&[("clerk", &asker(1))]).await;
    fleet.write_policy("clerk", &policy("clerk", &["clerk", "nobody"], 2));
    let _worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    // Somebody of whom the fleet does not know, and somebody who must not ask any further.
    let deeper = ask(&[child("clerk", json!({"say": "too deep"}))]);
    let children = [child("nobody", "Hello"), child("clerk", deeper)];
    let parent = asking("r-1", "clerk", &ask(&children));
    wire.ask(&parent).await;

    let result = answer(&wire, &parent).await;
    let said = json!(["TARGET_NOT_FOUND", "DENIED"]);
    assert_eq!(result["result"]["said"], said, "{result}");
    wire.until_all_is_done().await;
    assert_eq!(wire.messages(RESULTS).await, 3);
}
