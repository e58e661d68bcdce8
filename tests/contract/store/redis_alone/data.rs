//! How the data looks to a person with `redis-cli`, and to a process that is set otherwise.

use std::collections::HashMap;

use puruto_fleet::{
    clock::Chance,
    store::{
        Claims as _, Records as _, SessionId, Sessions as _, StoreFault,
        redis::{Fsync, Partitions, Persistence, RedisStore},
    },
};

use crate::store::world::{RedisWorld, Worker, World as _, options, request};

type Fields = HashMap<String, String>;

const HOUR_MS: i64 = 60 * 60 * 1000;

/// The one key of a kind.
async fn only_key(world: &RedisWorld, kind: &str) -> String {
    let pattern = format!("puruto:{{p*}}:{kind}:*");
    let mut keys: Vec<String> = world.command(&["KEYS", &pattern]).await;
    assert_eq!(keys.len(), 1, "{keys:?}");
    keys.remove(0)
}

async fn fields(world: &RedisWorld, key: &str) -> Fields {
    world.command(&["HGETALL", key]).await
}

async fn hours_left(world: &RedisWorld, key: &str) -> i64 {
    let left: i64 = world.command(&["PTTL", key]).await;
    (left + HOUR_MS / 2) / HOUR_MS
}

#[tokio::test]
async fn a_record_reads_well_and_shrinks_to_a_small_tombstone() {
    let world = RedisWorld::start().await;
    let worker = world.worker().await;
    let nonce = worker.answer(&request("7"), &[b'x'; 10_000]).await;
    let key = only_key(&world, "req").await;
    assert!(key.ends_with(":req:echo:7"), "{key}");
    let full = fields(&world, &key).await;
    assert_eq!(full["state"], "done");
    assert_eq!(full["owner"], worker.session.as_str());
    assert_eq!(full["nonce"], nonce.to_string());
    assert_eq!((&*full["attempts"], &*full["corr"]), ("1", "chain-1"));
    assert!(full["t1"].parse::<u64>().expect("ms") >= full["t0"].parse().expect("ms"));

    let result_key = only_key(&world, "result").await;
    assert!(result_key.ends_with(":result:echo:7"), "{result_key}");
    let result: String = world.command(&["GET", &result_key]).await;
    assert_eq!(result, "x".repeat(10_000));

    worker.store.settle(&request("7")).await.expect("settled");
    let results: Vec<String> = world.command(&["KEYS", "*:result:*"]).await;
    assert!(results.is_empty(), "{results:?}");
    let tombstone = fields(&world, &key).await;
    let mut names: Vec<_> = tombstone.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["attempts", "corr", "fp", "state", "t0", "t1"]);
    let encoding: String = world.command(&["OBJECT", "ENCODING", &key]).await;
    assert!(["ziplist", "listpack"].contains(&&*encoding), "{encoding}");
}

#[tokio::test]
async fn nothing_is_kept_for_ever() {
    let world = RedisWorld::start().await;
    let worker = world.worker().await;
    worker.store.cancel(&request("7")).await.expect("flagged");
    let key = only_key(&world, "req").await;
    assert_eq!(hours_left(&world, &key).await, 25);
    let (nonce, _) = worker.take(&request("7")).await;
    assert_eq!(hours_left(&world, &key).await, 72);
    worker.stop(&request("7"), nonce).await;
    assert_eq!(hours_left(&world, &key).await, 72);
    // Longer than any record may be: none is done without its result.
    let result = only_key(&world, "result").await;
    assert_eq!(hours_left(&world, &result).await, 72 + 25);
    let other = bytes::Bytes::from_static(b"published");
    let corrected = worker.store.correct(&request("7"), other).await;
    corrected.expect("corrected");
    assert_eq!(hours_left(&world, &result).await, 72 + 25);
    worker.store.settle(&request("7")).await.expect("settled");
    assert_eq!(hours_left(&world, &key).await, 72);
}

#[tokio::test]
async fn a_session_lives_for_its_time_in_each_partition_and_a_renewal_starts_it_anew() {
    let world = RedisWorld::start().await;
    let worker = world.worker().await;
    let pattern = format!("puruto:{{p*}}:session:{}", worker.session);
    let keys: Vec<String> = world.command(&["KEYS", &pattern]).await;
    assert_eq!(keys.len(), 16);
    for key in &keys {
        let left: i64 = world.command(&["PTTL", key]).await;
        assert!((1..=15_000).contains(&left), "{left} ms");
        world.command::<()>(&["PEXPIRE", key, "9000"]).await;
    }
    worker.store.renew(&worker.session).await.expect("renewed");
    for key in &keys {
        let left: i64 = world.command(&["PTTL", key]).await;
        assert!((9_001..=15_000).contains(&left), "{left} ms");
    }
}

#[tokio::test]
async fn the_held_set_names_each_ack_subject_and_follows_the_claim() {
    let world = RedisWorld::start().await;
    let (dead, heir) = (world.worker().await, world.worker().await);
    dead.take(&request("a:7")).await;
    let held_by = async |session: &SessionId| {
        let key = only_key(&world, "held").await;
        assert!(key.ends_with(session.as_str()), "{key}");
        fields(&world, &key).await
    };
    let expected = Fields::from([("echo:a:7".into(), "$JS.ACK.1".into())]);
    assert_eq!(held_by(&dead.session).await, expected);
    // Still there once its owner is gone: somebody has to give the message back.
    dead.store.close(&dead.session).await.expect("closed");
    assert_eq!(held_by(&dead.session).await, expected);
    let sessions = fields(&world, "puruto:{p00}:sessions").await;
    assert_eq!(sessions[dead.session.as_str()], "host-1");

    let (nonce, _) = heir.take(&request("a:7")).await;
    assert_eq!(held_by(&heir.session).await, expected);
    heir.commit(&request("a:7"), nonce, b"done").await;
    heir.store.settle(&request("a:7")).await.expect("settled");
    let left: Vec<String> = world.command(&["KEYS", "*:held:*"]).await;
    assert!(left.is_empty(), "{left:?}");
    heir.store.close(&heir.session).await.expect("closed");
    let sessions = fields(&world, "puruto:{p00}:sessions").await;
    assert!(!sessions.contains_key(heir.session.as_str()));
}

#[tokio::test]
async fn another_number_of_partitions_is_refused_and_both_are_named() {
    let world = RedisWorld::start().await;
    let mut other = options(&world.server);
    other.partitions = Partitions::new(8).expect("within bounds");
    // Connected while no session had decided the number yet.
    let early = RedisStore::connect(other.clone(), Chance::system()).await;
    let early = early.expect("a store");
    world.worker().await;

    let session = SessionId::fresh(&Chance::system());
    let opened = early.open(&session, "host-2", &[]).await.map(drop);
    let connected = RedisStore::connect(other, Chance::system()).await.map(drop);
    for refused in [opened, connected] {
        let Err(StoreFault::Unsuitable(words)) = refused else {
            panic!("not refused: {refused:?}");
        };
        assert!(words.contains("16") && words.contains('8'), "{words}");
    }
}

#[tokio::test]
async fn what_waits_together_goes_out_together() {
    let world = RedisWorld::start().await;
    let worker = world.worker().await;
    world.command::<()>(&["CONFIG", "RESETSTAT"]).await;
    let keys: Vec<_> = (0..1_000).map(|n| request(&n.to_string())).collect();
    futures_util::future::join_all(keys.iter().map(|key| worker.take(key))).await;

    let stats: String = world.command(&["INFO", "commandstats"]).await;
    let evalsha = stats
        .lines()
        .find_map(|it| it.strip_prefix("cmdstat_evalsha:calls="));
    let (calls, _) = evalsha
        .expect("a script ran")
        .split_once(',')
        .expect("more");
    let calls: u32 = calls.parse().expect("a number");
    // At least by the bound of a batch; how many more depends on how fast the server answers.
    assert!((4..=20).contains(&calls), "{calls} calls for 1000 claims");
}

#[tokio::test]
async fn the_report_tells_what_the_server_guarantees() {
    let world = RedisWorld::start().await;
    let report = world.store().report();
    assert_eq!(report.eviction.as_deref(), Some("noeviction"));
    assert_eq!(report.role.as_deref(), Some("master"));
    let server: Vec<_> = report.version.split('.').collect();
    assert_eq!(server.len(), 3, "{}", report.version);

    for (setting, value, persistence) in [
        ("appendfsync", "no", Persistence::AppendOnly(Fsync::Never)),
        (
            "appendfsync",
            "everysec",
            Persistence::AppendOnly(Fsync::EverySecond),
        ),
        (
            "appendfsync",
            "always",
            Persistence::AppendOnly(Fsync::Always),
        ),
        ("appendonly", "no", Persistence::None),
    ] {
        let command = ["CONFIG", "SET", setting, value];
        world.command::<()>(&command).await;
        assert_eq!(again(&world).await.report().persistence, persistence);
    }
    let evicting = ["CONFIG", "SET", "maxmemory-policy", "volatile-lru"];
    world.command::<()>(&evicting).await;
    let eviction = again(&world).await.report().eviction.clone();
    assert_eq!(eviction.as_deref(), Some("volatile-lru"));
}

/// Another store on the same server.
async fn again(world: &RedisWorld) -> RedisStore {
    let store = RedisStore::connect(options(&world.server), Chance::system()).await;
    store.expect("a store")
}

#[tokio::test]
async fn two_fleets_share_a_server_under_two_prefixes() {
    let world = RedisWorld::start().await;
    let mut other = options(&world.server);
    other.prefix = "other".parse().expect("a prefix");
    other.partitions = Partitions::new(1).expect("within bounds");
    let other = RedisStore::connect(other, Chance::system()).await;
    let theirs = Worker::open(other.expect("a store")).await;
    let ours = world.worker().await;
    ours.take(&request("7")).await;
    theirs.take(&request("7")).await;
}
