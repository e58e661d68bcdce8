//! A server that fails in ways of its own: about to stop, without its stream, away for long.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use puruto_fleet::broker::{
    Broker as _, DeadLetter, DeadLetters as _, DeadReason, Headers, Publishing, Pull as _,
    StoredMessage,
    nats::{Incident, NatsBroker, Observer},
};
use puruto_fleet::clock::WallTime;
use puruto_fleet::contract::Lane;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep, timeout};

use super::harness::{
    Harness as _, Real, SOON, lane_of, next, nothing, other_client, result, subject, target,
};
use crate::support::doorman::Doorman;

/// For so long the attempts to connect to a server that is away are counted.
const COUNTED_FOR: Duration = Duration::from_secs(4);

/// What four seconds have room for, by a wait that doubles from 100 ms, a connection.
const ATTEMPTS_MAX: usize = 12;

#[tokio::test]
async fn a_server_in_lame_duck_mode_is_told_of_and_worked_with_again_after_its_restart() {
    let mut world = Real::start().await;
    let incidents = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&incidents);
    let mut options = world.options();
    options.observer = Observer::new(move |_, incident| {
        told.lock().expect("whole").push(incident.clone());
    });
    world.broker = NatsBroker::connect(options).await.expect("a broker");
    let mut lane = lane_of(&world.broker).await;
    lane.demand(1);
    nothing(&mut lane).await;

    let pid = world
        .server
        .pid()
        .and_then(|pid| Pid::from_raw(pid.try_into().ok()?));
    kill_process(pid.expect("it runs"), Signal::USR2).expect("signalled");
    let told = async {
        while !incidents
            .lock()
            .expect("whole")
            .contains(&Incident::LameDuck)
        {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, told).await.expect("told in time");
    world.server.kill().await.expect("ended");
    world.server.restart().await.expect("restarted");
    world.publish(Lane::Normal, "1").await;
    assert_eq!(next(&mut lane).await.delivered, 1);
}

#[tokio::test]
async fn a_lane_outlives_its_stream() {
    let world = Real::start().await;
    let mut lane = lane_of(&world.broker).await;
    lane.demand(1);
    nothing(&mut lane).await;
    let deleted = world.jetstream.delete_stream("PURUTO_INVOKE").await;
    assert!(deleted.expect("deleted").success);
    let publish_once_restored = async {
        while world.jetstream.get_stream("PURUTO_INVOKE").await.is_err() {
            sleep(Duration::from_millis(50)).await;
        }
        world.publish(Lane::Normal, "1").await;
    };
    let both = async { tokio::join!(lane.next(), publish_once_restored) };
    let (delivery, ()) = timeout(2 * SOON, both).await.expect("in time");
    assert_eq!(delivery.delivered, 1);
    assert_eq!(world.broker.ack(&delivery.ack).await, Ok(()));
}

async fn delete_what_is_published_to(world: &Real) {
    for stream in ["PURUTO_RESULTS", "PURUTO_DLQ"] {
        let deleted = world.jetstream.delete_stream(stream).await;
        assert!(deleted.expect("deleted").success);
    }
}

/// As whoever publishes does: again, until the broker says that it is stored.
async fn publish_until_stored(world: &Real) {
    let one = result("one");
    while world.broker.publish_result(&one).await != Ok(Publishing::Stored) {
        sleep(Duration::from_millis(50)).await;
    }
    let there = world.broker.read_result(&one.subject).await;
    assert_eq!(&*there.expect("an answer").expect("a result").body, b"one");
}

fn letter() -> DeadLetter {
    DeadLetter {
        reason: DeadReason::Malformed,
        detail: "no request".into(),
        target: Some(target()),
        attempts: None,
        last_worker: None,
        request: None,
        correlation: None,
        message: StoredMessage {
            sequence: 1,
            subject: subject(Lane::Normal).into(),
            headers: Ok(Headers::new()),
            body: "{}".into(),
            stored_at: WallTime::from_unix_millis(1_700_000_000_000),
        },
    }
}

#[tokio::test]
async fn whoever_publishes_to_a_stream_that_was_deleted_makes_it_anew() {
    let world = Real::start().await;
    delete_what_is_published_to(&world).await;
    assert_eq!(
        world.broker.read_result("puruto.result.c.r").await,
        Ok(None)
    );
    let published = async {
        publish_until_stored(&world).await;
        while world.broker.bury(&letter()).await.is_err() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(SOON, published).await.expect("stored in time");
    assert_eq!(world.dead_letters().await.len(), 1);
}

#[tokio::test]
async fn a_deleted_stream_is_made_anew_also_where_somebody_else_hears_what_was_for_it() {
    let world = Real::start().await;
    let watcher = other_client(&world.server).await;
    let heard = watcher.subscribe("puruto.result.>").await.expect("heard");
    watcher.flush().await.expect("the server knows of it");
    delete_what_is_published_to(&world).await;
    let published = timeout(2 * SOON, publish_until_stored(&world)).await;
    published.expect("stored in time");
    drop(heard);
}

#[tokio::test]
async fn a_server_that_is_away_is_tried_ever_more_rarely_by_each_connection() {
    let mut world = Real::start().await;
    let connections = 3;
    world.server.kill().await.expect("killed");
    let doorman = Doorman::at(world.server.port().address()).await;
    // Whoever calls meanwhile waits for a connection, and makes none.
    let began = Instant::now();
    while began.elapsed() < COUNTED_FOR {
        let asked = world.broker.read_result("puruto.result.c.r");
        timeout(Duration::from_millis(50), asked).await.ok();
    }
    let attempts = doorman.came();
    assert!(attempts > 0, "nobody came");
    assert!(
        attempts <= connections * ATTEMPTS_MAX,
        "{attempts} attempts"
    );
    doorman.leave().await;
    world.server.restart().await.expect("restarted");
    let back = async {
        while world.broker.read_result("puruto.result.c.r").await.is_err() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(SOON, back).await.expect("back in time");
}
