//! Where a server's program is found, and which one will not do.

use puruto_fleet::dev::{
    find::find,
    tool::{Tool, Version},
};

use crate::fakes::{Machine, nats};

#[tokio::test]
async fn the_users_own_program_comes_first_then_path_then_the_tool_folder() {
    let machine = Machine::new();
    let in_tools = machine.in_tools("nats-server", &nats("2.10.1"));
    let mut places = machine.places();
    let found = find(Tool::Nats, &places, &machine).await.expect("tools");
    assert_eq!(found.program, in_tools);

    let on_path = machine.on_path("nats-server", &nats("2.10.2"));
    let found = find(Tool::Nats, &places, &machine).await.expect("PATH");
    assert_eq!(found.program, on_path);

    let own = machine.own("my-nats", &nats("2.10.3"));
    places.nats_server = Some(own.clone());
    let found = find(Tool::Nats, &places, &machine).await.expect("own");
    assert_eq!(found.program, own);
    assert_eq!(found.version, Version::new(2, 10, 3));
    assert_eq!(machine.said(), "", "nothing was passed over");
}

#[tokio::test]
async fn a_program_that_is_too_old_is_passed_over_with_the_version_it_has() {
    let machine = Machine::new();
    let mut places = machine.places();
    places.nats_server = Some(machine.own("old-nats", &nats("2.9.10")));
    let on_path = machine.on_path("nats-server", &nats("2.10.0"));

    let found = find(Tool::Nats, &places, &machine).await.expect("PATH");

    assert_eq!(found.program, on_path);
    let said = machine.said();
    let why = "it is nats-server 2.9.10, and 2.10.0 is the oldest that will do";
    assert!(said.contains("old-nats") && said.contains(why), "{said}");
}

#[tokio::test]
async fn a_program_that_is_missing_or_broken_is_passed_over_with_the_reason() {
    let machine = Machine::new();
    let mut places = machine.places();
    places.redis_server = Some(machine.folder("own").join("nowhere"));
    machine.on_path("redis-server", "echo 'cannot load libssl' >&2; exit 127");
    machine.in_tools("redis-server", "echo hello");

    assert_eq!(find(Tool::Redis, &places, &machine).await, None);

    let said = machine.said();
    for why in [
        "No such file",
        "cannot load libssl",
        "does not say which version",
    ] {
        assert!(said.contains(why), "{why} in {said}");
    }
}

#[tokio::test]
async fn valkey_will_do_as_redis() {
    let machine = Machine::new();
    let valkey = machine.on_path("valkey-server", "echo 'Valkey server v=8.0.1 sha=0'");
    let found = find(Tool::Redis, &machine.places(), &machine).await;
    assert_eq!(found.expect("valkey").program, valkey);
}
