//! The gateway as it is run: a process of its own, which prints how to get in.

use std::fs;

use puruto_fleet::dev::{
    launch::{Launch, Output, Role},
    member::Member,
    port::Port,
};

use crate::{
    browser::Browser,
    fleet::Fleet,
    patience::until,
    support::{foreign::need, guard, ours_that_configure},
    wire::request,
};

/// Stands between the address and the token in what is printed.
const MARK: &str = "/?token=";

/// A gateway process, its address and its token, as it printed them.
async fn gateway(fleet: &Fleet) -> (Member, String, String) {
    let folder = fleet.servers.folder();
    let log = folder.join("gateway.log");
    let launch = Launch {
        role: Role::Gateway {
            listen: Port::free(&fleet.chance).expect("a port"),
        },
        name: "gateway".to_owned(),
        workers_dir: fleet.workers_dir.clone(),
        folder: Some(folder.to_owned()),
        telemetry: Port::free(&fleet.chance).expect("a port"),
        arguments: Vec::new(),
        set: fleet.variables().to_vec(),
        unset: ours_that_configure(),
        output: Output::File(log.clone()),
        guard: guard(),
    };
    let process = Member::start(&launch).await.expect("a process");
    let (address, token) = until("the gateway prints how to get in", async || {
        let said = fs::read_to_string(&log).ok()?;
        let line = said.lines().find(|line| line.contains(MARK))?;
        let (address, token) = line.strip_prefix("dashboard: ")?.split_once(MARK)?;
        Some((address.to_owned(), token.to_owned()))
    })
    .await;
    (process, address, token)
}

#[tokio::test]
async fn whoever_types_the_printed_token_sees_what_was_asked_over_nats() {
    let Some(mut browser) = need(Browser::start().await) else {
        return;
    };
    let fleet = Fleet::of(&[("echo", "[model]\nprovider = \"simulated\"")]).await;
    let _worker = fleet.worker("w-1").await;
    let (_gateway, address, token) = gateway(&fleet).await;
    let asked = request("r-1", "echo", "hello");
    let wire = fleet.wire().await;
    wire.ask(&asked).await;
    wire.result(&asked).await;

    until("it listens", async || {
        let address = address.strip_prefix("http://")?;
        tokio::net::TcpStream::connect(address).await.ok()
    })
    .await;
    browser.open(&address).await;
    browser.until_it_says("Token").await;
    browser.shows("login").await;
    browser.types(&token).await;
    browser.press("Enter").await;
    browser.until_it_says("w-1").await;
    let cookie = browser.eval("document.cookie").await;
    assert_eq!(cookie, "", "no script sees the session");
    browser.press("2").await;
    browser.click("r-1").await;
    browser.until_it_says("✓ ok").await;
    browser.until_it_says("Caller\npuruto-cli").await;
    browser.click("Show prompt and result").await;
    browser.until_it_says("\"status\": \"ok\"").await;
    assert_eq!(browser.complaints(), [""; 0]);
}
