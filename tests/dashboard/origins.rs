//! Who asked, and what for: told for as long as anything tells it, and else said to be unknown.

use serde_json::{Value, json};

use crate::{
    browser::Browser,
    console::Console,
    fleet::Fleet,
    http::{get, session},
    patience::until,
    support::foreign::need,
    wire::request,
};

/// A model that answers at once.
const ECHO: (&str, &str) = ("echo", "[model]\nprovider = \"simulated\"");

/// The row of a request, as soon as it is listed.
async fn row(console: &Console, session: &str, id: &str) -> Value {
    until(&format!("{id} is listed"), async || {
        let list = get(console, session, "/requests").await.json();
        let rows = list["requests"].as_array()?;
        rows.iter().find(|row| row["request_id"] == id).cloned()
    })
    .await
}

fn origin(shown: &Value) -> (&Value, &Value) {
    (&shown["caller"], &shown["action"])
}

#[tokio::test]
async fn what_was_answered_before_anybody_looked_still_says_who_asked_for_what() {
    let fleet = Fleet::of(&[ECHO]).await;
    let _worker = fleet.worker("w-1").await;
    let wire = fleet.wire().await;
    wire.ask(&request("r-1", "echo", "hello")).await;
    wire.until_all_is_done().await;

    let console = Console::of(&fleet).await;
    let session = session(&console).await;
    let expected = (json!("puruto-cli"), json!("do"));
    let row = row(&console, &session, "r-1").await;
    assert_eq!(origin(&row), (&expected.0, &expected.1));
    let page = get(&console, &session, "/requests/echo/r-1").await.json();
    assert_eq!(origin(&page), (&expected.0, &expected.1));
    let found = get(&console, &session, "/requests?caller=puruto-cli").await;
    assert_eq!(found.json()["requests"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn what_nothing_tells_is_said_to_be_unknown() {
    let Some(mut browser) = need(Browser::start().await) else {
        return;
    };
    let fleet = Fleet::of(&[ECHO]).await;
    let _worker = fleet.worker("w-1").await;
    let wire = fleet.wire().await;
    let mut headers = async_nats::HeaderMap::new();
    headers.insert("Puruto-Target", "echo");
    let result = json!({
        "request_id": "r-old", "correlation_id": "c-old", "status": "ok", "duration_ms": 5,
        "result": {"summary": "hello"},
    });
    let place = "puruto.result.c-old.r-old";
    wire.publish_with(place, headers, result.to_string()).await;

    let console = Console::of(&fleet).await;
    browser.open(&console.way_in()).await;
    browser.press("2").await;
    browser.until_it_says("r-old").await;
    browser
        .until("[...document.querySelectorAll('td[data-label=Caller], td[data-label=Action]')].every(it => it.textContent === 'not known')")
        .await;
    browser.shows("requests-unknown").await;
    browser.click("r-old").await;
    browser.until_it_says("Caller\nnot known").await;
    browser.until_it_says("Action\nnot known").await;
    assert_eq!(browser.complaints(), [""; 0]);
}

#[tokio::test]
async fn a_request_that_was_typed_without_ids_is_seen_while_it_is_queued() {
    let fleet = Fleet::of(&[ECHO]).await;
    fleet.worker("w-1").await.drain().await;
    let console = Console::of(&fleet).await;
    let session = session(&console).await;
    until("the index is whole", async || {
        let list = get(&console, &session, "/requests").await.json();
        (list["complete"] == true).then_some(())
    })
    .await;
    let typed = json!({"target": "echo", "action": "do", "prompt": "hello"});
    let wire = fleet.wire().await;
    wire.publish("puruto.invoke.echo", typed.to_string()).await;
    let row = until("it is listed", async || {
        let list = get(&console, &session, "/requests?target=echo")
            .await
            .json();
        list["requests"].as_array()?.first().cloned()
    })
    .await;
    assert_eq!(origin(&row), (&json!("anonymous"), &json!("do")), "{row}");
    assert_eq!(row["state"], "queued");
}
