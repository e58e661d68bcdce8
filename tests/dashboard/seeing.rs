//! What an operator sees: every page, in the states that it can be in.

use serde_json::{Value, json};

use crate::{
    browser::Browser,
    console::Console,
    fleet::Fleet,
    patience::until,
    support::{
        asking::{ask, asker, child, policy},
        foreign::need,
    },
    wire::request,
};

/// A model that answers at once.
const ECHO: (&str, &str) = ("echo", "[model]\nprovider = \"simulated\"");

/// A model server that is not there, with limits.
const AWAY: (&str, &str) = (
    "away",
    "[model]\nprovider = \"openai\"\nbase_url = \"http://127.0.0.1:9\"\nmodel = \"m\"\n\
     [model.limits]\nrequests_per_minute = 60",
);

/// A person has to allow it.
const CLERK: (&str, &str) = (
    "clerk",
    "actions = [{ name = \"do\", approval = true }]\n[model]\nprovider = \"simulated\"",
);

/// A text that would be markup.
const HOSTILE: &str =
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">";

async fn told(request: &Value, fleet: &Fleet) {
    fleet.wire().await.result(request).await;
}

#[tokio::test]
async fn a_fleet_without_workers_says_so_and_not_that_it_failed() {
    let Some(mut browser) = need(Browser::start().await) else {
        return;
    };
    let fleet = Fleet::of(&[]).await;
    let console = Console::of(&fleet).await;
    browser.open(&console.way_in()).await;
    browser.until_it_says("No worker is alive.").await;
    browser
        .until_it_says("No target: no worker of this fleet ever ran.")
        .await;
    browser
        .until("document.querySelector('#live').dataset.live === 'live'")
        .await;
    browser.shows("fleet-empty").await;
    browser.press("2").await;
    browser.until_it_says("No request fits.").await;
    browser.shows("requests-empty").await;
    browser.press("3").await;
    browser.until_it_says("No dead letters.").await;
    browser.shows("letters-empty").await;
    assert_eq!(browser.complaints(), [""; 0]);
}

#[tokio::test]
async fn targets_workers_requests_and_a_chain_are_seen() {
    let Some(mut browser) = need(Browser::start().await) else {
        return;
    };
    let boss = asker(4);
    let fleet = Fleet::of(&[("boss", &boss), ECHO, AWAY]).await;
    fleet.write_policy("boss", &policy("boss", &["echo", "away"], 4));
    let _worker = fleet.worker("w-1").await;
    let console = Console::of(&fleet).await;
    let children = [child("echo", "first"), child("echo", "second")];
    let chain = request("r-boss", "boss", &ask(&children).to_string());
    let wire = fleet.wire().await;
    wire.ask(&chain).await;
    told(&chain, &fleet).await;

    browser.open(&console.way_in()).await;
    browser
        .until("document.querySelectorAll('[aria-label=Targets] tbody tr').length === 3")
        .await;
    browser.until_it_says("w-1").await;
    browser.until_it_says("60 calls a minute").await;
    browser.shows("fleet").await;

    // It was asked before the dashboard was there, and is asked again while it is.
    let later = request("r-later", "echo", "hello");
    browser.press("2").await;
    browser.until_it_says("r-boss").await;
    wire.ask(&later).await;
    browser.until_it_says("r-later").await;
    let ids = "[...document.querySelectorAll('tbody .id a')].map(it => it.textContent)";
    browser
        .until(&format!("{ids}[0] === 'r-later' && {ids}.length === 4"))
        .await;
    browser
        .until("[...document.querySelectorAll('.state')].every(it => it.innerText.endsWith('ok'))")
        .await;
    browser.shows("requests").await;

    // Without a mouse: look for it, open it, and back.
    browser.press("/").await;
    browser.types("boss").await;
    browser.press("Enter").await;
    browser.until(&format!("{ids}.length === 1")).await;
    browser.eval("document.activeElement.blur()").await;
    browser.press("j").await;
    browser.press("Enter").await;
    browser
        .until("document.querySelectorAll('.waterfall li').length === 3")
        .await;
    browser.until_it_says("delegated").await;
    browser.shows("request").await;
    browser.click("Show prompt and result").await;
    browser.until_it_says("\"status\": \"ok\"").await;
    browser.shows("request-content").await;
    browser.press("u").await;
    browser.until("location.hash === '#/requests'").await;
    browser.press("?").await;
    browser.until("document.querySelector('#help').open").await;
    browser.shows("help").await;
    browser.press("Escape").await;
    browser.until("!document.querySelector('#help').open").await;
    assert_eq!(browser.complaints(), [""; 0]);
}

#[tokio::test]
async fn whatever_somebody_sends_is_shown_as_text() {
    let Some(mut browser) = need(Browser::start().await) else {
        return;
    };
    let fleet = Fleet::of(&[ECHO, CLERK]).await;
    let _worker = fleet.worker("w-1").await;
    let console = Console::of(&fleet).await;
    let wire = fleet.wire().await;
    let mut hostile = request(HOSTILE, "clerk", HOSTILE);
    hostile["correlation_id"] = HOSTILE.into();
    wire.ask(&hostile).await;
    wire.publish("puruto.invoke.echo", format!("no request {HOSTILE}"))
        .await;

    browser.open(&console.way_in()).await;
    browser.press("2").await;
    browser.until_it_says("<script>document.title").await;
    browser.until_it_says("awaiting approval").await;
    browser.shows("hostile-requests").await;
    browser
        .eval("[...document.querySelectorAll('tbody .id a')].find(it => it.textContent.startsWith('<')).click()")
        .await;
    browser.until_it_says("approval wanted").await;
    browser.click("Show prompt and result").await;
    browser
        .until("document.querySelector('pre')?.textContent.startsWith('<script>')")
        .await;
    browser.click("Why is it not done?").await;
    browser.until_it_says("it waits to be approved").await;
    browser.shows("hostile-request").await;
    browser.press("3").await;
    browser.until_it_says("malformed").await;
    browser.shows("letters").await;
    assert_eq!(
        browser.eval("document.title").await,
        "Dead letters - Puruto Fleet"
    );
    assert_eq!(
        browser
            .eval("document.querySelectorAll('#view script, #view img').length")
            .await,
        0
    );
    assert_eq!(browser.complaints(), [""; 0]);
}

#[tokio::test]
async fn prompts_and_results_can_be_withheld() {
    let fleet = Fleet::of(&[ECHO]).await;
    let _worker = fleet.worker("w-1").await;
    let console = Console::showing(&fleet, false).await;
    let asked = request("r-1", "echo", "a secret prompt");
    fleet.wire().await.ask(&asked).await;
    told(&asked, &fleet).await;
    let session = crate::http::session(&console).await;
    let content = crate::http::get(&console, &session, "/requests/echo/r-1/content").await;
    assert_eq!((content.status, content.code()), (403, "WITHHELD".into()));
    let shown = crate::http::get(&console, &session, "/requests/echo/r-1").await;
    assert_eq!(shown.json()["state"], "ok", "{shown:?}");
    assert!(!shown.body.contains("secret prompt"), "{shown:?}");
    if let Some(mut browser) = need(Browser::start().await) {
        browser.open(&console.way_in()).await;
        browser.open(&console.at("/#/request/echo/r-1")).await;
        browser
            .until_it_says("gateway.dashboard_content is off")
            .await;
        browser.shows("request-withheld").await;
    }
}

#[tokio::test]
async fn many_requests_are_paged_and_filtered() {
    let fleet = Fleet::of(&[ECHO]).await;
    let _worker = fleet.worker("w-1").await;
    let wire = fleet.wire().await;
    for number in 0..120 {
        wire.ask(&request(&format!("r-{number:03}"), "echo", "hello"))
            .await;
    }
    let console = Console::of(&fleet).await;
    let session = crate::http::session(&console).await;
    let list = async |query: &str| {
        let answer = crate::http::get(&console, &session, &format!("/requests?{query}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    };
    until("all of them are done", async || {
        let done = list("state=ok&limit=200").await;
        let done = done["requests"].as_array()?.len();
        (done == 120).then_some(())
    })
    .await;
    let mut seen = Vec::new();
    let mut page = list("limit=50").await;
    loop {
        let rows = page["requests"].as_array().unwrap();
        seen.extend(rows.iter().map(|row| row["request_id"].to_string()));
        let Some(next) = page["next"].as_str() else {
            break;
        };
        page = list(&format!("limit=50&cursor={next}")).await;
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 120);
    let one = list("id=r-042&target=echo&caller=puruto-cli").await;
    assert_eq!(one["requests"].as_array().unwrap().len(), 1);
    let unknown = crate::http::get(&console, &session, "/requests/echo/r-none").await;
    assert_eq!((unknown.status, unknown.code()), (404, "NOT_FOUND".into()));
    let none = list("target=nobody").await;
    assert_eq!(
        (&none["requests"], &none["complete"]),
        (&json!([]), &json!(true))
    );

    let Some(mut browser) = need(Browser::start().await) else {
        return;
    };
    browser.open(&console.way_in()).await;
    browser.press("2").await;
    browser
        .until("document.querySelectorAll('tbody tr').length === 50")
        .await;
    browser.press("n").await;
    browser.until_it_says("Page 2").await;
    browser.press("n").await;
    browser
        .until("document.querySelectorAll('tbody tr').length === 20")
        .await;
    browser.press("p").await;
    browser.until_it_says("Page 2").await;
    assert_eq!(browser.complaints(), [""; 0]);
}
