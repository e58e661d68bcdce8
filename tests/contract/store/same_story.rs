//! The twin and the scripts tell the same story, whatever happens in whatever order.
//!
//! A seed makes a history of calls, replays, expiries and losses; each call is made on both stores
//! and answered alike, but for the time of day. `PURUTO_TEST_SEED` plays one history again.

mod author;

use std::time::Duration;

use bytes::Bytes;
use puruto_fleet::{
    clock::{Chance, WallTime},
    store::{
        AckToken, Attempt, CancelAnswer, ClaimAnswer, Claims as _, CommitAnswer, Record, Records,
        Renewal, RequestKey, Runs, SessionId, Sessions as _, StoreFault, Supervision as _, Waits,
        kin::{Child, Due, Intended, LetGo, ParkAnswer, VerdictAnswer, Wait, Woken},
        redis::RedisOptions,
        run::{CheckpointAnswer, Run, RunEvent},
    },
};

use self::author::{Author, Step};
use super::{
    family::owned,
    world::{RedisWorld, TwinWorld, Worker, World},
};

const STEPS: usize = 1_500;
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
    Record(Box<Option<Record>>),
    Held(Vec<(RequestKey, AckToken)>),
    Parked(ParkAnswer),
    Intended(Intended),
    LetGo(LetGo),
    Woken(Woken),
    Children(Vec<Child>),
    Due(Vec<Due>),
    Verdict(VerdictAnswer),
    Run(Option<Box<Run>>),
    Checkpoint(CheckpointAnswer),
    Wait(Option<Wait>),
    Outbox(Vec<(Child, Bytes)>),
    Events(Vec<RunEvent>),
    Nothing,
}

/// Makes one step in a world.
async fn play<W: World>(world: &W, worker: &mut Worker<W::Store>, step: Step) -> Told {
    let store = world.store();
    match step {
        Step::Claim(key, nonce, payload) => {
            let answer = worker.ask_about(&key, nonce, payload).await;
            Told::Claim(without_time(answer))
        }
        Step::Commit(key, nonce, commit) => {
            Told::Commit(answered(store.commit(&key, nonce, commit).await))
        }
        Step::Cancel(key) => Told::Cancel(answered(store.cancel(&key).await)),
        Step::Renew => {
            let renewed = store.renew(&worker.session).await;
            Told::Renewal(in_order(answered(renewed)))
        }
        Step::Settle(key) => nothing(store.settle(&key).await),
        Step::Release(key, nonce, left) => nothing(store.release(&key, nonce, &left).await),
        Step::Correct(key, bytes) => nothing(store.correct(&key, bytes).await),
        Step::Close => nothing(store.close(&worker.session).await),
        Step::Evict => {
            let mut held = answered(store.evict(&worker.session, &[]).await);
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
        other => play_on(store, other).await,
    }
}

/// Makes a step of a request that has to do with others, or of a run.
async fn play_on<S: Waits + Runs>(store: &S, step: Step) -> Told {
    match step {
        Step::Park(key, nonce, park) => {
            Told::Parked(answered(store.park(&owned(&key, nonce), &park).await))
        }
        Step::Intend(intent) => Told::Intended(answered(store.intend(&intent).await)),
        Step::LetGo(key, nonce, resting) => {
            Told::LetGo(answered(store.let_go(&owned(&key, nonce), &resting).await))
        }
        Step::ChildEnded(key, ended) => {
            Told::Woken(answered(store.child_ended(&key, &ended).await))
        }
        Step::Resume(key, nonce, step) => {
            Told::Children(answered(store.resume(&owned(&key, nonce), step).await))
        }
        Step::Due(again) => {
            let mut due = answered(store.due(100, again).await);
            due.sort_by(|one, other| one.key.cmp(&other.key));
            Told::Due(due)
        }
        Step::AskVerdict(key, nonce, resting) => {
            let owned = owned(&key, nonce);
            Told::LetGo(answered(store.ask_verdict(&owned, &resting).await))
        }
        Step::Decide(key, verdict) => Told::Verdict(answered(store.decide(&key, &verdict).await)),
        Step::Create(key, new) => {
            let run = answered(store.create(&key, &new).await);
            Told::Run(Some(Box::new(run)))
        }
        Step::Checkpoint(key, nonce, checkpoint) => {
            let written = store.checkpoint(&owned(&key, nonce), &checkpoint).await;
            Told::Checkpoint(answered(written))
        }
        other => panic!("{other:?} is played elsewhere"),
    }
}

fn answered<T>(answer: Result<T, StoreFault>) -> T {
    answer.expect("an answer")
}

fn nothing(answer: Result<(), StoreFault>) -> Told {
    answered(answer);
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

/// What everybody can see: where every request stands, and more of the one that is `looked_at`.
async fn seen<S: Records + Waits + Runs>(
    store: &S,
    cast: &[RequestKey],
    looked_at: Option<&RequestKey>,
) -> Vec<Told> {
    let records = answered(store.read(cast).await).into_iter();
    let mut told: Vec<_> = records
        .map(|record| Told::Record(Box::new(record.map(timeless))))
        .collect();
    if let Some(key) = looked_at {
        let run = answered(store.run(key).await);
        let mut events = answered(store.events(key, 0).await);
        for event in &mut events {
            event.at = WallTime::from_unix_millis(0);
        }
        told.extend([
            Told::Wait(answered(store.wait(key).await)),
            Told::Outbox(answered(store.outbox(key).await)),
            Told::Children(answered(store.children(key).await)),
            Told::Run(run.map(Box::new)),
            Told::Events(events),
        ]);
    }
    told
}

fn timeless(record: Record) -> Record {
    Record {
        first_claimed: record.first_claimed.map(|_| WallTime::from_unix_millis(0)),
        age: Duration::ZERO,
        ..record
    }
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

/// So that the next steps can follow.
fn learn(author: &mut Author, step: Step, told: Told) {
    match (step, told) {
        (Step::Claim(key, nonce, _), Told::Claim(ClaimAnswer::Claimed(_))) => {
            author.granted(key, nonce);
        }
        (Step::Checkpoint(key, ..), Told::Checkpoint(CheckpointAnswer::Written(revision))) => {
            author.written(key, revision);
        }
        _ => {}
    }
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

    let mut author = Author::new(chance);
    for n in 0..STEPS {
        let (who, step) = (author.pick(WORKERS), author.step());
        let case = format!("PURUTO_TEST_SEED={seed}, step {n}: worker {who}, {step:?}");
        let (our, their) = (&mut ours[who], &mut theirs[who]);
        let (key, cast) = (step.key().cloned(), author.cast());
        let expected = play(&twin, our, step.clone()).await;
        let told = play(&redis, their, step.clone()).await;
        assert_eq!(told, expected, "{case}");
        assert_eq!(
            seen(redis.store(), &cast, key.as_ref()).await,
            seen(twin.store(), &cast, key.as_ref()).await,
            "{case}"
        );
        learn(&mut author, step, told);
    }
}
