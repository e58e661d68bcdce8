//! What an operator does with a dead letter: looks what would be done, and has it done.

use crate::{
    browser::Browser,
    console::Console,
    fleet::Fleet,
    support::foreign::need,
    wire::{DEAD_LETTERS, json_of, request},
};

/// Takes a second for anything.
const CLERK: (&str, &str) = (
    "clerk",
    "[model]\nprovider = \"simulated\"\nlatency = \"1s\"",
);

#[tokio::test]
async fn a_dead_request_is_replayed_runs_again_and_its_result_stands() {
    let Some(mut browser) = need(Browser::start().await) else {
        return;
    };
    let fleet = Fleet::of(&[CLERK]).await.with_quick_take_over();
    let fleet = fleet.with("PURUTO_WORKER__MAX_ATTEMPTS", "1");
    let victim = fleet.worker("w-1").await;
    let wire = fleet.wire().await;
    let asked = request("r-1", "clerk", "Hello");
    wire.ask(&asked).await;
    victim.until_running("clerk", 1).await;
    victim.kill().await;
    let worker = fleet.worker("w-2").await;
    let dead = json_of(&wire.result(&asked).await.payload);
    assert_eq!(dead["error"]["details"]["kind"], "poisoned", "{dead}");

    let console = Console::of(&fleet).await;
    browser.open(&console.way_in()).await;
    browser.press("3").await;
    browser.click("Dry run of letter 1").await;
    browser
        .until_it_says("Letter 1 would ask clerk again for r-1 as r-1-replay-1.")
        .await;
    browser.shows("letter-dry-run").await;
    assert_eq!(wire.messages(DEAD_LETTERS).await, 1);
    assert_eq!(worker.executions("clerk").await, 0);

    browser.click("Replay letter 1").await;
    browser
        .until("document.querySelector('dialog[open] .strong')")
        .await;
    browser
        .eval("document.querySelector('dialog[open] .strong').click()")
        .await;
    browser
        .until_it_says("Letter 1 was replayed: clerk is asked for r-1 as r-1-replay-1.")
        .await;
    browser.until_it_says("No dead letters.").await;
    let mut again = asked.clone();
    again["request_id"] = "r-1-replay-1".into();
    let result = json_of(&wire.result(&again).await.payload);
    assert_eq!(result["status"], "ok", "{result}");
    wire.until_all_is_done().await;
    assert_eq!(worker.executions("clerk").await, 1);

    browser
        .open(&console.at("/#/request/clerk/r-1-replay-1"))
        .await;
    browser.until_it_says("✓ ok").await;
    // What was told of the original stands.
    browser.open(&console.at("/#/request/clerk/r-1")).await;
    browser.until_it_says("✗ failed").await;
    assert_eq!(browser.complaints(), [""; 0]);
}
