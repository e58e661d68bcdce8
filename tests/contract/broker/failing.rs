//! A server that fails in ways of its own: about to stop, without its stream, away for long.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use puruto_fleet::broker::{
    Broker as _, Pull as _,
    nats::{Incident, NatsBroker, Observer},
};
use puruto_fleet::contract::Lane;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep, timeout};

use super::harness::{Harness as _, Real, SOON, lane_of, next, nothing};
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
