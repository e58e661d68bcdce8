//! A server that is away is said to be away: what is not known never looks like nothing.

use crate::{browser::Browser, console::Console, fleet::Fleet, support::foreign::need};

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
