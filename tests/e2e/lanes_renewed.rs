//! Consumers that do not deliver what lies in their lanes, on a real server.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use async_nats::jetstream::{
    self,
    consumer::{FromConsumer as _, pull},
};

use crate::{
    crash::{holder_first, told},
    fleet::Fleet,
    patience::until,
    support::say,
    wire::{INVOKE, Wire, json_of, request},
};

const ECHO: (&str, &str) = ("echo", "[model]\nprovider = \"simulated\"");

/// Takes two seconds for anything.
const CLERK: (&str, &str) = (
    "clerk",
    "[model]\nprovider = \"simulated\"\nlatency = \"2s\"",
);

/// The consumer delivers each message only once from now on.
async fn deliver_once(wire: &Wire, consumer: &str) {
    let jetstream = jetstream::new(wire.client.clone());
    let stream = jetstream.get_stream(INVOKE).await.expect("the stream");
    let config = wire.consumer(consumer).await.config;
    let mut config = pull::Config::try_from_consumer_config(config).expect("a pull consumer");
    config.max_deliver = 1;
    stream.update_consumer(config).await.expect("updated");
}

#[tokio::test]
async fn a_request_that_was_delivered_too_often_is_delivered_again_and_finished() {
    let fleet = Fleet::of(&[CLERK]).await.with_quick_take_over();
    let workers = (fleet.worker("w1").await, fleet.worker("w2").await);
    let wire = fleet.wire().await;
    deliver_once(&wire, "clerk").await;
    let asked = request("r-1", "clerk", "Hello");
    wire.ask(&asked).await;
    let (holder, other) = holder_first(workers.0, workers.1).await;

    holder.kill().await;

    let stored = wire.result(&asked).await;
    assert_eq!(json_of(&stored.payload)["status"], "ok");
    let by = told(Some(&stored.headers));
    assert_eq!(by, (other.name().to_owned(), "2".to_owned()));
    wire.until_all_is_done().await;
    let renewed = "puruto_lanes_renewed_total{reason=\"stranded\"}";
    assert_eq!(other.count(renewed).await, 1);
}

/// The folder of this name below `folder`.
fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let mut folders = entries.map(|it| it.path()).filter(|it| it.is_dir());
    folders.find_map(|it| match it.ends_with(name) {
        true => Some(it),
        false => find(&it, name),
    })
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &to)?,
            false => drop(fs::copy(entry.path(), to)?),
        }
    }
    Ok(())
}

#[tokio::test]
async fn requests_are_answered_after_a_broker_lost_the_end_of_its_stream() {
    let mut fleet = Fleet::of(&[ECHO]).await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let answer = async |id: String| {
        let asked = request(&id, "echo", "Hello");
        wire.ask(&asked).await;
        let stored = wire.result(&asked).await;
        assert_eq!(json_of(&stored.payload)["status"], "ok", "{id}");
    };
    answer("before".to_owned()).await;
    wire.until_all_is_done().await;
    fleet.servers.nats.kill().await.expect("killed");
    let stream = find(fleet.servers.folder(), INVOKE).expect("the stream's folder");
    let kept = fleet.servers.folder().join("kept");
    copy(&stream.join("msgs"), &kept).expect("copied");
    fleet.servers.nats.restart().await.expect("up again");
    for number in 0..5 {
        answer(format!("lost-{number}")).await;
    }
    wire.until_all_is_done().await;

    // As after a power loss: the consumer was written to the disk, the stream's end was not.
    fleet.servers.nats.kill().await.expect("killed");
    fs::remove_dir_all(stream.join("msgs")).expect("removed");
    copy(&kept, &stream.join("msgs")).expect("copied back");
    fleet.servers.nats.restart().await.expect("up again");

    for number in 0..3 {
        answer(format!("after-{number}")).await;
    }
    let renewed = "puruto_lanes_renewed_total{reason=\"ahead\"}";
    let renewed = worker.count(renewed).await;
    say(&format!(
        "consumers ahead of their stream made anew: {renewed}"
    ));
    until("nothing is left", async || {
        (wire.messages(INVOKE).await == 0).then_some(())
    })
    .await;
}
