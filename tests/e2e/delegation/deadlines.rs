//! Who waits for others is answered at its deadline, also where no slot is free.
//!
//! Seen elsewhere: river #1258, #1264 and #1291.

use serde_json::json;

use super::{answer, asking, child_of, let_all_ask, until_it_waits};
use crate::{
    fleet::Fleet,
    patience::until,
    support::asking::{ask, asker, child, leaves::Leaves},
    wire::RESULTS,
};

#[tokio::test]
async fn a_parent_whose_child_never_ends_is_answered_at_its_deadline_though_no_slot_is_free() {
    let model = Leaves::held_back().await;
    let purutos = [("clerk", asker(1)), ("leaf", model.puruto(1))];
    let fleet = Fleet::of(&purutos.each_ref().map(|it| (it.0, it.1.as_str()))).await;
    let_all_ask(&fleet, &["clerk", "leaf"]);
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let mut parent = asking("r-1", "clerk", &ask(&[child("leaf", "never")]));
    parent["timeout_sec"] = 6.into();
    wire.ask(&parent).await;
    until_it_waits(&fleet, &parent).await;
    wire.ask(&asking("r-2", "clerk", &json!({"hang": true})))
        .await;
    worker.until_running("clerk", 1).await;

    let late = answer(&wire, &parent).await;
    assert_eq!(late["error"]["code"], "TIMEOUT", "{late}");
    let child = answer(&wire, &child_of(&parent, 0, "leaf")).await;
    // Both end at the same moment: by its own deadline, or since nobody wants it any more.
    let code = child["error"]["code"].as_str().expect("a code");
    assert!(["TIMEOUT", "CANCELLED"].contains(&code), "{child}");
    until("its model is left alone", async || {
        (model.open() == 0).then_some(())
    })
    .await;
    assert_eq!(model.made(), 1);
    assert_eq!(wire.messages(RESULTS).await, 2);
    worker.until_running("clerk", 1).await;
}

#[tokio::test]
async fn a_child_that_is_late_is_told_to_its_parent_which_goes_on() {
    let model = Leaves::held_back().await;
    let purutos = [("clerk", asker(1)), ("leaf", model.puruto(1))];
    let fleet = Fleet::of(&purutos.each_ref().map(|it| (it.0, it.1.as_str()))).await;
    let_all_ask(&fleet, &["clerk", "leaf"]);
    let _worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let mut brief = child("leaf", "never");
    brief["timeout_sec"] = 1.into();
    // It waits in the stream for the only slot, and is late there.
    let mut second = child("leaf", "not even begun");
    second["timeout_sec"] = 1.into();
    let parent = asking("r-1", "clerk", &ask(&[brief, second]));
    wire.ask(&parent).await;

    let result = answer(&wire, &parent).await;
    let said = json!(["TIMEOUT", "TIMEOUT"]);
    assert_eq!(result["result"]["said"], said, "{result}");
    until("its model is left alone", async || {
        (model.open() == 0).then_some(())
    })
    .await;
}
