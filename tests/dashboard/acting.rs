//! What an operator does: cancel, decide, drain, replay.

use serde_json::json;

use crate::{
    browser::Browser,
    console::Console,
    fleet::Fleet,
    http::{get, post, session},
    patience::until,
    support::foreign::need,
    wire::{json_of, request},
};

/// A person has to allow it.
const CLERK: (&str, &str) = (
    "clerk",
    "actions = [{ name = \"do\", approval = true }]\n[model]\nprovider = \"simulated\"",
);

/// It never answers.
const SLOW: (&str, &str) = (
    "slow",
    "[model]\nprovider = \"simulated\"\nlatency = \"10m\"",
);

#[tokio::test]
async fn a_request_is_approved_and_another_one_cancelled() {
    let Some(mut browser) = need(Browser::start().await) else {
        return;
    };
    let fleet = Fleet::of(&[CLERK, SLOW]).await;
    let _worker = fleet.worker("w-1").await;
    let console = Console::of(&fleet).await;
    let wire = fleet.wire().await;
    let (asked, slow) = (
        request("r-1", "clerk", "Pay"),
        request("r-2", "slow", "Wait"),
    );
    wire.ask(&asked).await;
    wire.ask(&slow).await;

    browser.open(&console.way_in()).await;
    browser.open(&console.at("/#/request/clerk/r-1")).await;
    browser.until_it_says("awaiting approval").await;
    browser.shows("request-approval").await;
    browser.click("Approve").await;
    browser
        .until("document.querySelector('dialog[open] input[name=by]')")
        .await;
    browser
        .eval("document.querySelector('dialog[open] input[name=by]').focus()")
        .await;
    browser.types("Ana").await;
    browser.shows("approving").await;
    browser.press("Enter").await;
    browser.until_it_says("Approved by Ana.").await;
    let result = json_of(&wire.result(&asked).await.payload);
    assert_eq!(result["status"], "ok", "{result}");
    browser.until_it_says("✓ ok").await;

    browser.open(&console.at("/#/request/slow/r-2")).await;
    browser.until_it_says("▶ running").await;
    browser.shows("request-running").await;
    // It is drawn anew as it goes on, and whoever was at a link stays there.
    let began = "[...document.querySelectorAll('dt')].find(it => it.textContent === 'Began').nextSibling.textContent";
    let before = browser.eval(began).await;
    browser
        .eval("document.querySelector('.facts a').focus()")
        .await;
    browser.until(&format!("{began} !== {before}")).await;
    browser
        .until("document.activeElement === document.querySelector('.facts a')")
        .await;
    browser.click("Cancel").await;
    browser
        .until("document.querySelector('dialog[open] .strong')")
        .await;
    browser
        .eval("document.querySelector('dialog[open] .strong').click()")
        .await;
    let result = json_of(&wire.result(&slow).await.payload);
    assert_eq!(result["error"]["code"], "CANCELLED", "{result}");
    browser.until_it_says("⊘ cancelled").await;
    browser.shows("request-cancelled").await;
    assert_eq!(browser.complaints(), [""; 0]);
}

#[tokio::test]
async fn a_worker_that_is_told_to_drain_ends_and_another_stays() {
    let fleet = Fleet::of(&[SLOW]).await;
    let (mut first, second) = (fleet.worker("w-1").await, fleet.worker("w-2").await);
    let console = Console::of(&fleet).await;
    let session = session(&console).await;
    let drained = post(&console, &session, "/workers/w-1/drain", &json!({})).await;
    assert_eq!(
        (drained.status, drained.json()),
        (200, json!({"draining": "w-1"}))
    );
    assert!(first.ended().await.success());
    until("one worker is listed", async || {
        let workers = get(&console, &session, "/workers").await.json();
        let names: Vec<_> = workers["workers"]
            .as_array()?
            .iter()
            .map(|it| it["id"].clone())
            .collect();
        (names == [second.name()]).then_some(())
    })
    .await;
    let again = post(&console, &session, "/workers/w-1/drain", &json!({})).await;
    assert_eq!(again.status, 404, "{again:?}");
}

#[tokio::test]
async fn a_dead_letter_is_replayed_dry_and_refused_when_it_is_no_request() {
    let fleet = Fleet::of(&[CLERK]).await;
    let _worker = fleet.worker("w-1").await;
    let console = Console::of(&fleet).await;
    let wire = fleet.wire().await;
    wire.publish("puruto.invoke.clerk", "no request").await;
    let session = session(&console).await;
    let sequence = until("it is a dead letter", async || {
        let letters = get(&console, &session, "/letters").await.json();
        letters["letters"][0]["sequence"].as_u64()
    })
    .await;
    let path = format!("/letters/{sequence}/replay");
    for how in [
        json!({"dry_run": true}),
        json!({"dry_run": false, "force": true}),
    ] {
        let answer = post(&console, &session, &path, &how).await;
        assert_eq!(
            (answer.status, answer.code()),
            (409, "CONFLICT".into()),
            "{how}"
        );
    }
    let letters = get(&console, &session, "/letters").await.json();
    assert_eq!(letters["letters"].as_array().unwrap().len(), 1, "{letters}");
}
