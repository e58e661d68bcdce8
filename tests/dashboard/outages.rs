//! A server that is away is said to be away: what is not known never looks like nothing.

use crate::{
    browser::Browser, console::Console, fleet::Fleet, support::foreign::need, wire::request,
};

#[tokio::test]
async fn what_cannot_be_read_is_said_and_not_shown_as_empty() {
    let Some(mut browser) = need(Browser::start().await) else {
        return;
    };
    let mut fleet = Fleet::of(&[(
        "echo",
        "[model]\nprovider = \"openai\"\nbase_url = \"http://127.0.0.1:9\"\nmodel = \"m\"",
    )])
    .await;
    let console = Console::of(&fleet).await;
    browser.open(&console.way_in()).await;
    browser.until_it_says("No worker is alive.").await;
    fleet.servers.redis.kill().await.expect("killed");
    browser
        .until("document.querySelector('[aria-label=\"Model servers\"] .failed')")
        .await;
    fleet.servers.nats.kill().await.expect("killed");
    browser
        .until("document.querySelectorAll('.notice.failed').length === 3")
        .await;
    browser.shows("fleet-failed").await;
    browser.press("2").await;
    browser.until_it_says("The requests are not known").await;
    browser.shows("requests-failed").await;
    browser.press("3").await;
    browser
        .until_it_says("The dead letters are not known")
        .await;
    browser.shows("letters-failed").await;
    drop(console);
    browser
        .until("document.querySelector('#live').dataset.live === 'stale'")
        .await;
    browser.shows("stale").await;
}

#[tokio::test]
async fn what_failed_is_read_again_by_itself_once_it_can_be() {
    let Some(mut browser) = need(Browser::start().await) else {
        return;
    };
    let mut fleet = Fleet::of(&[("echo", "[model]\nprovider = \"simulated\"")]).await;
    let _worker = fleet.worker("w-1").await;
    let console = Console::of(&fleet).await;
    let asked = request("r-1", "echo", "hello");
    let wire = fleet.wire().await;
    wire.ask(&asked).await;
    wire.until_all_is_done().await;
    browser.open(&console.way_in()).await;
    for (key, failed, known) in [
        ("2", "The requests are not known", "r-1"),
        ("3", "The dead letters are not known", "No dead letters."),
    ] {
        browser.press(key).await;
        browser.until_it_says(known).await;
        fleet.servers.nats.kill().await.expect("killed");
        browser.until_it_says(failed).await;
        fleet.servers.nats.restart().await.expect("up again");
        browser.until_it_says(known).await;
    }
    browser.open(&console.at("/#/request/echo/r-1")).await;
    browser.until_it_says("✓ ok").await;
    fleet.servers.redis.kill().await.expect("killed");
    browser.open(&console.at("/#/requests")).await;
    browser.open(&console.at("/#/request/echo/r-1")).await;
    browser.until_it_says("The request is not known").await;
    fleet.servers.redis.restart().await.expect("up again");
    browser.until_it_says("✓ ok").await;
}
