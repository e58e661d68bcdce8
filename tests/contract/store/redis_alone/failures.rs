//! Calls while the server fails: bounded, told apart, and good again with the same nonce.

use std::{future::Future, time::Duration};

use bytes::Bytes;
use puruto_fleet::{
    clock::Chance,
    store::{
        Attempt, ClaimAnswer, Claims as _, Commit, CommitAnswer, Nonce, Records as _,
        Sessions as _, StoreFault, redis::RedisStore,
    },
};
use tokio::time::{Instant, sleep};

use crate::store::world::{RedisWorld, Worker, World as _, options, request};
use crate::support::doorman::Doorman;

const BOUND: Duration = Duration::from_millis(300);
/// A machine that is busy with other tests may take this long beyond a bound.
const SLACK: Duration = Duration::from_secs(2);
/// For so long the attempts to connect to a server that is away are counted.
const COUNTED_FOR: Duration = Duration::from_secs(4);
/// What four seconds have room for, by a wait that doubles from 50 ms.
const ATTEMPTS_MAX: usize = 16;
/// How long a server may take to serve again.
const RECOVERED_WITHIN: Duration = Duration::from_secs(20);

async fn impatient() -> (RedisWorld, Worker<RedisStore>) {
    let world = RedisWorld::start_with(|options| {
        options.response_timeout = BOUND;
        options.connect_timeout = BOUND;
        // Sessions outlive the failures.
        options.session_ttl = Duration::from_secs(300);
    })
    .await;
    let worker = world.worker().await;
    (world, worker)
}

async fn try_claim(worker: &Worker<RedisStore>, nonce: Nonce) -> Result<ClaimAnswer, StoreFault> {
    let claim = worker.claim_of(&request("1"), nonce, b"a question");
    worker.store.claim(claim).await
}

/// Asks until there is an answer; faults before it must be of a server that is away.
async fn once_recovered<T, F: Future<Output = Result<T, StoreFault>>>(ask: impl Fn() -> F) -> T {
    let until = Instant::now() + RECOVERED_WITHIN;
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(fault) => assert!(Instant::now() < until, "not recovered: {fault}"),
        }
        sleep(Duration::from_millis(10)).await;
    }
}

fn first_attempt(answer: &ClaimAnswer) -> bool {
    matches!(answer, ClaimAnswer::Claimed(it) if it.attempt == Attempt::new(1))
}

#[tokio::test]
async fn scripts_that_the_server_forgot_are_loaded_again() {
    let world = RedisWorld::start().await;
    let worker = world.worker().await;
    for round in 0..5 {
        let keys: Vec<_> = (0..100).map(|n| request(&format!("{round}-{n}"))).collect();
        let walks = keys.iter().map(|key| worker.answer(key, b"done"));
        tokio::join!(
            futures_util::future::join_all(walks),
            world.command::<()>(&["SCRIPT", "FLUSH"]),
        );
        let renewed = worker.store.renew(&worker.session).await;
        renewed.expect("renewed");
    }
}

#[tokio::test]
async fn a_killed_connection_costs_no_call() {
    let world = RedisWorld::start().await;
    let worker = world.worker().await;
    for n in 0..3 {
        let killed: u32 = world.command(&["CLIENT", "KILL", "TYPE", "normal"]).await;
        assert!(killed >= 1);
        worker.answer(&request(&n.to_string()), b"done").await;
        worker
            .store
            .cancel(&request("later"))
            .await
            .expect("flagged");
    }
}

#[tokio::test]
async fn a_stalled_server_costs_a_bounded_time_and_no_attempt() {
    let (world, worker) = impatient().await;
    let nonce = Nonce::fresh(&Chance::system());
    world.server.pause().expect("paused");
    let started = Instant::now();
    let fault = try_claim(&worker, nonce).await.expect_err("stalled");
    assert_eq!(fault.kind(), "timed_out");
    // The connection is given up on the way; no call waits for the next one beyond its bound.
    for _ in 0..5 {
        assert!(try_claim(&worker, nonce).await.is_err());
    }
    assert!(
        started.elapsed() < 6 * 2 * BOUND + SLACK,
        "{:?}",
        started.elapsed()
    );
    world.server.resume().expect("resumed");

    // What timed out was carried out meanwhile.
    let answer = once_recovered(|| try_claim(&worker, nonce)).await;
    assert!(first_attempt(&answer), "{answer:?}");
}

#[tokio::test]
async fn however_many_wait_for_a_stalled_server_none_waits_for_long() {
    let (world, worker) = impatient().await;
    world.server.pause().expect("paused");
    let started = Instant::now();
    let keys: Vec<_> = (0..2_000).map(|n| request(&n.to_string())).collect();
    let claims = keys.iter().map(|key| {
        let claim = worker.claim_of(key, Nonce::fresh(&Chance::system()), b"a question");
        worker.store.claim(claim)
    });
    let answers = futures_util::future::join_all(claims).await;
    assert!(answers.iter().all(Result::is_err));
    assert!(
        started.elapsed() < 2 * BOUND + SLACK,
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_committed_once() {
    let (world, worker) = impatient().await;
    let key = request("1");
    let (nonce, _) = worker.take(&key).await;
    let commit = |result: &'static [u8]| {
        let commit = Commit {
            result: Bytes::from_static(result),
            ..Commit::default()
        };
        worker.store.commit(&key, nonce, commit)
    };
    world.server.pause().expect("paused");
    let lost = commit(b"first").await;
    assert_eq!(lost.expect_err("stalled").kind(), "timed_out");
    world.server.resume().expect("resumed");
    let committed = once_recovered(|| commit(b"second")).await;
    assert_eq!(committed, CommitAnswer::Committed);
    let ClaimAnswer::Done { result, .. } = worker.ask(&key).await.1 else {
        panic!("the request is done");
    };
    assert_eq!(result, Some(Bytes::from_static(b"first")));
}

#[tokio::test]
async fn a_dead_server_fails_calls_at_once_until_it_is_back_with_its_data() {
    let (mut world, worker) = impatient().await;
    let (nonce, _) = worker.take(&request("1")).await;
    world.server.stop().await.expect("stopped");
    let fault = try_claim(&worker, nonce).await.expect_err("dead");
    assert!(
        ["unreachable", "timed_out"].contains(&fault.kind()),
        "{fault}"
    );
    // Past the grace nothing waits any more, and the fault says why.
    let fault = loop {
        let started = Instant::now();
        let fault = try_claim(&worker, nonce).await.expect_err("dead");
        if started.elapsed() < BOUND / 2 {
            break fault;
        }
    };
    assert!(fault.to_string().contains("cannot be reached"), "{fault}");

    world.server.restart().await.expect("restarted");
    let answer = once_recovered(|| try_claim(&worker, nonce)).await;
    assert!(first_attempt(&answer), "{answer:?}");
}

#[tokio::test]
async fn a_server_that_became_a_replica_is_unready_until_it_is_promoted() {
    let (world, worker) = impatient().await;
    let nonce = Nonce::fresh(&Chance::system());
    world.command::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await;
    let fault = try_claim(&worker, nonce).await.expect_err("read-only");
    assert!(
        matches!(&fault, StoreFault::Unready { reason } if reason.contains("READONLY")),
        "{fault}"
    );
    world.command::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    let answer = once_recovered(|| try_claim(&worker, nonce)).await;
    assert!(first_attempt(&answer), "{answer:?}");
}

#[tokio::test]
async fn a_full_server_is_unready_until_it_has_room() {
    let (world, worker) = impatient().await;
    let nonce = Nonce::fresh(&Chance::system());
    world
        .command::<()>(&["CONFIG", "SET", "maxmemory", "1"])
        .await;
    let fault = try_claim(&worker, nonce).await.expect_err("no room");
    assert!(
        matches!(&fault, StoreFault::Unready { reason } if reason.contains("OOM")),
        "{fault}"
    );
    world
        .command::<()>(&["CONFIG", "SET", "maxmemory", "0"])
        .await;
    let answer = try_claim(&worker, nonce).await.expect("room");
    assert!(first_attempt(&answer), "{answer:?}");
}

#[tokio::test]
async fn a_server_that_still_loads_is_unready_and_one_that_is_away_is_tried_ever_more_rarely() {
    let (mut world, worker) = impatient().await;
    let nonce = Nonce::fresh(&Chance::system());
    world.server.stop().await.expect("stopped");
    let address = world.server.port().address();
    let doorman = Doorman::at(address).await;
    let began = Instant::now();
    // However much is asked meanwhile.
    while began.elapsed() < COUNTED_FOR {
        try_claim(&worker, nonce).await.expect_err("away");
        sleep(Duration::from_millis(5)).await;
    }
    let attempts = doorman.came();
    assert!(
        (1..=ATTEMPTS_MAX).contains(&attempts),
        "{attempts} attempts"
    );
    doorman.leave().await;

    let loading = "-LOADING Redis is loading the dataset in memory\r\n";
    let doorman = Doorman::who_answers(address, loading).await;
    let connected = RedisStore::connect(options(&world.server), Chance::system()).await;
    let fault = connected.expect_err("loading");
    assert!(
        matches!(&fault, StoreFault::Unready { reason } if reason.contains("LOADING")),
        "{fault}"
    );
    doorman.leave().await;
    world.server.restart().await.expect("restarted");
    let answer = once_recovered(|| try_claim(&worker, nonce)).await;
    assert!(first_attempt(&answer), "{answer:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_or_wants_a_password_is_told_apart() {
    let (mut world, _) = impatient().await;
    let options = options(&world.server);
    world
        .command::<()>(&["CONFIG", "SET", "requirepass", "hunter2"])
        .await;
    let connected = RedisStore::connect(options.clone(), Chance::system()).await;
    let fault = connected.expect_err("refused");
    assert_eq!(fault.kind(), "unsuitable", "{fault}");

    world.server.stop().await.expect("stopped");
    let connected = RedisStore::connect(options.clone(), Chance::system()).await;
    let fault = connected.expect_err("not there");
    assert_eq!(fault.kind(), "unreachable", "{fault}");
    assert!(
        fault.to_string().contains(&options.url.to_string()),
        "{fault}"
    );
}
