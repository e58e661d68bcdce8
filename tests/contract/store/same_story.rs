//! The twin and the scripts tell the same story, whatever happens in whatever order.
//!
//! A seed makes a history of calls, replays, expiries and losses; each call is made on both stores
//! and answered alike, but for the time of day. `PURUTO_TEST_SEED` plays one history again.

use std::time::Duration;

use bytes::Bytes;
use puruto_fleet::{
    clock::{Chance, WallTime},
    store::{
        AckToken, Attempt, CancelAnswer, Carried, ClaimAnswer, Claims, Commit, CommitAnswer, Nonce,
        Record, Records, Renewal, RequestKey, SessionId, Sessions, Supervision as _,
        redis::RedisOptions,
    },
};

use super::world::{RedisWorld, TwinWorld, Worker, World, request};

const STEPS: usize = 800;
const WORKERS: usize = 3;
/// So few that some requests are exhausted before they are done.
const MAX_ATTEMPTS: Attempt = Attempt::new(2);

/// What a call was answered, without the time of day.
#[derive(Debug, PartialEq)]
enum Told {
    Claim(ClaimAnswer),
    Commit(CommitAnswer),
    Cancel(CancelAnswer),
    Renewal(Renewal),
    Record(Option<Box<Record>>),
    Held(Vec<(RequestKey, AckToken)>),
    Nothing,
}

/// One call of a worker, or a mishap.
#[derive(Clone, Debug)]
enum Step {
    Claim(RequestKey, Nonce, &'static [u8]),
    Commit(RequestKey, Nonce, Bytes, bool),
    Settle(RequestKey),
    Release(RequestKey, Nonce, Carried),
    Correct(RequestKey, Bytes),
    Cancel(RequestKey),
    Renew,
    Close,
    /// Somebody else ends the worker's session.
    Evict,
    /// A fenced worker opens a session with a new name.
    Reopen(SessionId),
    Expire,
    Empty,
}

/// Draws steps. A few requests and nonces, so that they meet.
struct Author {
    chance: Chance,
    nonces: Vec<Nonce>,
}

impl Author {
    fn pick(&self, below: usize) -> usize {
        usize::try_from(self.chance.bits128() % below as u128).expect("below")
    }

    fn nonce(&mut self) -> Nonce {
        if self.nonces.is_empty() || self.pick(3) == 0 {
            self.nonces.push(Nonce::fresh(&self.chance));
        }
        let recent = self.pick(self.nonces.len().min(6));
        *self.nonces.iter().nth_back(recent).expect("as recent")
    }

    fn carried(&self) -> Carried {
        Carried::new(["", "1", "0,3"].get(self.pick(3)).expect("one of three"))
    }

    fn step(&mut self) -> Step {
        let key = request(&format!("r:{}", self.pick(4)));
        let bytes = Bytes::from(format!("result {}", self.pick(100)));
        match self.pick(100) {
            0..30 => {
                let payload: &[u8] = if self.pick(10) == 0 {
                    b"other"
                } else {
                    b"usual"
                };
                Step::Claim(key, self.nonce(), payload)
            }
            30..50 => Step::Commit(key, self.nonce(), bytes, self.pick(4) == 0),
            50..58 => Step::Settle(key),
            58..70 => Step::Release(key, self.nonce(), self.carried()),
            70..75 => Step::Correct(key, bytes),
            75..82 => Step::Cancel(key),
            82..88 => Step::Renew,
            88..89 => Step::Close,
            89..90 => Step::Evict,
            90..97 => Step::Reopen(SessionId::fresh(&self.chance)),
            97..99 => Step::Expire,
            _ => Step::Empty,
        }
    }
}

/// Makes one step in a world.
async fn play<W: World>(world: &W, worker: &mut Worker<W::Store>, step: Step) -> Told {
    let store = world.store();
    match step {
        Step::Claim(key, nonce, payload) => {
            let answer = worker.ask_about(&key, nonce, payload).await;
            Told::Claim(without_time(answer))
        }
        Step::Commit(key, nonce, result, cancelled) => {
            let commit = Commit {
                result,
                cancelled,
                ..Commit::default()
            };
            let committed = worker.store.commit(&key, nonce, commit);
            Told::Commit(committed.await.expect("an answer"))
        }
        Step::Cancel(key) => Told::Cancel(store.cancel(&key).await.expect("an answer")),
        Step::Renew => {
            let renewed = store.renew(&worker.session).await;
            Told::Renewal(in_order(renewed.expect("an answer")))
        }
        Step::Settle(key) => nothing(store.settle(&key).await),
        Step::Release(key, nonce, left) => nothing(store.release(&key, nonce, &left).await),
        Step::Correct(key, bytes) => nothing(store.correct(&key, bytes).await),
        Step::Close => nothing(store.close(&worker.session).await),
        Step::Evict => {
            let mut held = store.evict(&worker.session, &[]).await.expect("an answer");
            held.sort_by(|(one, _), (other, _)| one.cmp(other));
            Told::Held(held)
        }
        Step::Reopen(session) => {
            worker.session = session;
            let opened = store.open(&worker.session, "host", &[]).await;
            nothing(opened.map(drop))
        }
        Step::Expire => {
            world.expire(&worker.session).await;
            Told::Nothing
        }
        Step::Empty => {
            world.empty().await;
            Told::Nothing
        }
    }
}

fn nothing(answer: Result<(), impl std::fmt::Debug>) -> Told {
    answer.expect("an answer");
    Told::Nothing
}

fn without_time(answer: ClaimAnswer) -> ClaimAnswer {
    match answer {
        ClaimAnswer::Claimed(mut claimed) => {
            claimed.now = WallTime::from_unix_millis(0);
            claimed.first_claimed = WallTime::from_unix_millis(0);
            ClaimAnswer::Claimed(claimed)
        }
        ClaimAnswer::Exhausted(mut exhausted) => {
            exhausted.claimed.now = WallTime::from_unix_millis(0);
            exhausted.claimed.first_claimed = WallTime::from_unix_millis(0);
            ClaimAnswer::Exhausted(exhausted)
        }
        other => other,
    }
}

fn in_order(renewal: Renewal) -> Renewal {
    match renewal {
        Renewal::Renewed { mut cancelled } => {
            cancelled.sort();
            Renewal::Renewed { cancelled }
        }
        Renewal::Fenced => Renewal::Fenced,
    }
}

/// What everybody can see of every request.
async fn seen<S: Claims + Sessions + Records>(store: &S) -> Vec<Told> {
    let keys: Vec<_> = (0..4).map(|n| request(&format!("r:{n}"))).collect();
    let records = store.read(&keys).await.expect("an answer");
    let told = records.into_iter().map(|record| {
        Told::Record(record.map(|it| {
            Box::new(Record {
                first_claimed: it.first_claimed.map(|_| WallTime::from_unix_millis(0)),
                age: Duration::ZERO,
                ..it
            })
        }))
    });
    told.collect()
}

async fn staff<W: World>(world: &W, sessions: &[SessionId]) -> Vec<Worker<W::Store>> {
    let mut workers = Vec::new();
    for session in sessions {
        let store = world.store().clone();
        store.open(session, "host", &[]).await.expect("an epoch");
        let session = session.clone();
        workers.push(Worker { store, session });
    }
    workers
}

fn limit(options: &mut RedisOptions) {
    options.max_attempts = MAX_ATTEMPTS;
}

#[tokio::test]
async fn the_twin_and_the_scripts_answer_alike_whatever_happens() {
    let given = std::env::var_os("PURUTO_TEST_SEED").and_then(|it| it.to_str()?.parse().ok());
    let seed: u64 = given.unwrap_or_else(|| Chance::system().bits128() as u64);
    let chance = Chance::seeded(seed);
    let sessions: Vec<_> = (0..WORKERS).map(|_| SessionId::fresh(&chance)).collect();
    let (twin, redis) = (TwinWorld::new(), RedisWorld::start_with(limit).await);
    twin.store().limit_attempts(MAX_ATTEMPTS);
    let (mut ours, mut theirs) = (
        staff(&twin, &sessions).await,
        staff(&redis, &sessions).await,
    );

    let mut author = Author {
        chance,
        nonces: Vec::new(),
    };
    for n in 0..STEPS {
        let (who, step) = (author.pick(WORKERS), author.step());
        let case = format!("PURUTO_TEST_SEED={seed}, step {n}: worker {who}, {step:?}");
        let (our, their) = (&mut ours[who], &mut theirs[who]);
        let expected = play(&twin, our, step.clone()).await;
        assert_eq!(play(&redis, their, step).await, expected, "{case}");
        assert_eq!(
            seen(redis.store()).await,
            seen(twin.store()).await,
            "{case}"
        );
    }
}
