//! The heartbeat on its own thread: nothing that the walk does delays it.

use std::{thread, time::Duration};

use puruto_fleet::{
    clock::{Chance, Clock},
    store::{CommitAnswer, redis::RedisStore},
    telemetry::metrics::Metrics,
    worker::{Heartbeat, HeartbeatTimes},
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::store::world::{RedisWorld, Worker, World as _, options, request};

const TTL: Duration = Duration::from_secs(2);

/// Seen elsewhere: BullMQ #3183 and #3056, where the loop that renewed the lock was the one that
/// the job blocked.
#[tokio::test]
async fn a_walk_that_blocks_its_thread_past_the_session_keeps_its_claims() {
    let world = RedisWorld::start_with(|options| options.session_ttl = TTL).await;
    let (opened, mut newly_opened) = mpsc::unbounded_channel();
    let stop = CancellationToken::new();
    let heartbeat = Heartbeat {
        worker: "w1".to_owned(),
        targets: vec![request("1").target],
        times: HeartbeatTimes {
            ttl: TTL,
            every: TTL / 8,
            margin: TTL / 4,
        },
        clock: Clock::system(),
        chance: Chance::system(),
        opened,
        cancelled: mpsc::unbounded_channel().0,
        stop: stop.clone(),
        metrics: Metrics::new([]),
    };
    let mut options = options(&world.server);
    options.session_ttl = TTL;
    let connect = move || RedisStore::connect(options.clone(), Chance::system());
    let thread = heartbeat.spawn(connect).expect("a thread");
    let (session, _) = newly_opened.recv().await.expect("a session");
    let walk = Worker {
        store: world.store().clone(),
        session: session.id.clone(),
    };
    let (nonce, _) = walk.take(&request("1")).await;

    // As a handler would that computes and never yields; this runtime has no other thread.
    thread::sleep(TTL * 2);

    let committed = walk.commit(&request("1"), nonce, b"an answer").await;
    assert_eq!(committed, CommitAnswer::Committed);
    assert!(session.is_live());
    stop.cancel();
    thread.join().expect("it ends");
}
