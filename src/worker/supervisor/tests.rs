//! Deaths and what looks like them, on a paused clock, over the twins.

use std::sync::Arc;

use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::{verdict::STABLE_FOR, *};
use crate::{
    broker::{Delivery, Headers, Pull as _, twin::BrokerTwin},
    clock::{Clock, WallTime},
    contract::{Deadline, Fingerprint, Lane, PurutoName},
    pipeline::Session,
    store::{
        Claim, ClaimAnswer, Claims as _, Nonce, RequestKey, SESSION_TTL, Sessions as _,
        twin::StoreTwin,
    },
};

struct World {
    clock: Clock,
    broker: BrokerTwin,
    store: StoreTwin,
    chance: Chance,
}

/// A worker process as far as others see it.
struct Process {
    session: Arc<Session>,
    metrics: Metrics,
    tasks: Vec<JoinHandle<()>>,
    _sessions: watch::Sender<Option<Arc<Session>>>,
}

fn target() -> PurutoName {
    "echo".parse().unwrap()
}

impl World {
    fn new() -> Self {
        let clock = Clock::manual(WallTime::from_unix_millis(1_000_000));
        Self {
            broker: BrokerTwin::new(clock.clone()),
            store: StoreTwin::new(clock.clone()),
            clock,
            chance: Chance::seeded(1),
        }
    }

    async fn process(&self) -> Process {
        let id = SessionId::fresh(&self.chance);
        self.store.open(&id, "w", &[target()]).await.unwrap();
        let good_for = Duration::from_secs(3_600);
        let session = Arc::new(Session::new(id, Instant::now(), good_for));
        let (sender, receiver) = watch::channel(Some(Arc::clone(&session)));
        let (sessions, metrics) = (SessionWatch::new(receiver), Metrics::new([]));
        let supervisor = Supervisor {
            broker: self.broker.clone(),
            store: self.store.clone(),
            sessions: sessions.clone(),
            chance: self.chance.clone(),
            metrics: metrics.clone(),
        };
        let attending = attend(
            self.broker.clone(),
            self.store.clone(),
            sessions,
            metrics.clone(),
        );
        let tasks = vec![
            tokio::spawn(supervisor.run()),
            tokio::spawn(attending),
            tokio::spawn(renew(self.store.clone(), session.id.clone())),
        ];
        Process {
            session,
            metrics,
            tasks,
            _sessions: sender,
        }
    }

    /// A leader and another, whose connections have been up for long enough.
    async fn two(&self) -> (Process, Process) {
        let leader = self.process().await;
        self.pass(Duration::from_secs(1)).await;
        let other = self.process().await;
        self.pass(STABLE_FOR).await;
        (leader, other)
    }

    /// Lets time pass in small steps, on both clocks.
    async fn pass(&self, time: Duration) {
        let step = Duration::from_millis(50);
        for _ in 0..time.as_millis() / step.as_millis() {
            self.clock.advance(step);
            sleep(step).await;
        }
    }

    /// A request that `process` holds, and its delivery.
    async fn held_by(&self, process: &Process, id: &str) -> Delivery {
        self.broker
            .publish("puruto.invoke.echo", Headers::new(), "{}");
        let mut lane = self.broker.lane(&target(), Lane::Normal).await.unwrap();
        lane.demand(1);
        let delivery = lane.next().await;
        let claimed = self.store.claim(self.claim(process, id, &delivery)).await;
        assert!(
            matches!(claimed, Ok(ClaimAnswer::Claimed(_))),
            "{claimed:?}"
        );
        delivery
    }

    fn claim(&self, process: &Process, id: &str, delivery: &Delivery) -> Claim {
        Claim {
            key: RequestKey {
                target: target(),
                request: id.parse().unwrap(),
            },
            correlation: "c".parse().unwrap(),
            fingerprint: Fingerprint::of_bytes(b"{}"),
            session: process.session.id.clone(),
            nonce: Nonce::fresh(&self.chance),
            ack: delivery.ack.clone(),
            deadline: Deadline::of(self.clock.now(), Duration::from_secs(60), None),
        }
    }

    async fn lives(&self, process: &Process) -> bool {
        let roster = self.store.roster().await.unwrap();
        roster
            .iter()
            .any(|it| it.session == process.session.id && it.lives)
    }
}

async fn renew(store: StoreTwin, session: SessionId) {
    loop {
        sleep(SESSION_TTL / 4).await;
        store.renew(&session).await.unwrap();
    }
}

impl Process {
    fn die(&self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }

    fn counts(&self, line: &str) -> bool {
        self.metrics.render().lines().any(|it| it == line)
    }
}

#[tokio::test(start_paused = true)]
async fn a_dead_process_is_found_out_in_half_a_second_and_its_messages_come_again() {
    let world = World::new();
    let (leader, holder) = world.two().await;
    let mut messages = Vec::new();
    for n in 0..200 {
        messages.push(world.held_by(&holder, &n.to_string()).await);
    }

    holder.die();
    world.pass(Duration::from_millis(500)).await;

    assert!(!world.lives(&holder).await);
    let mut lane = world.broker.lane(&target(), Lane::Normal).await.unwrap();
    lane.demand(messages.len());
    for n in 0..messages.len() {
        let again = lane.next().await;
        assert_eq!(again.delivered, 2);
        let taken = world
            .store
            .claim(world.claim(&leader, &n.to_string(), &again))
            .await;
        assert!(matches!(taken, Ok(ClaimAnswer::Claimed(it)) if it.attempt.number() == 2));
    }
    assert!(leader.counts("puruto_takeover_naks_total 200"));
    assert!(leader.counts("puruto_sessions_evicted_total{reason=\"no_responders\"} 1"));
    let roster = world.store.roster().await.unwrap();
    assert_eq!(roster.len(), 1, "forgotten: {roster:?}");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_is_only_stopped_is_left_alone_until_its_time_is_up() {
    let world = World::new();
    let (leader, holder) = world.two().await;
    world.broker.stop_answering(&holder.session.id);
    holder.tasks[2].abort();

    world.pass(SESSION_TTL / 2).await;
    assert!(world.lives(&holder).await);
    world.pass(SESSION_TTL / 2).await;
    assert!(!world.lives(&holder).await);
    assert!(leader.counts("puruto_sessions_evicted_total{reason=\"expired\"} 1"));
    assert!(leader.counts("puruto_sessions_evicted_total{reason=\"no_responders\"} 0"));
}

#[tokio::test(start_paused = true)]
async fn nobody_is_taken_for_dead_who_may_still_be_reconnecting() {
    let world = World::new();
    let (_leader, away) = world.two().await;
    world.broker.reconnect();
    away.tasks[1].abort();

    world.pass(STABLE_FOR - Duration::from_millis(200)).await;
    assert!(world.lives(&away).await);
    world.pass(Duration::from_secs(1)).await;
    assert!(!world.lives(&away).await);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_never_answered_lives_as_long_as_it_is_renewed() {
    let world = World::new();
    let (_leader, _other) = world.two().await;
    let deaf = world.process().await;
    deaf.tasks[1].abort();
    world.pass(SESSION_TTL * 2).await;
    assert!(world.lives(&deaf).await);
}

#[tokio::test(start_paused = true)]
async fn a_dead_supervisor_is_replaced_and_buried_within_three_seconds() {
    let world = World::new();
    let (leader, other) = world.two().await;
    assert!(leader.counts("puruto_supervisor 1") && other.counts("puruto_supervisor 0"));
    let message = world.held_by(&leader, "1").await;

    leader.die();
    world.pass(Duration::from_secs(3)).await;

    assert!(other.counts("puruto_supervisor 1"));
    assert!(!world.lives(&leader).await);
    let mut lane = world.broker.lane(&target(), Lane::Normal).await.unwrap();
    lane.demand(1);
    assert_eq!(lane.next().await.sequence, message.sequence);
}

#[tokio::test(start_paused = true)]
async fn a_supervisor_that_fails_half_way_finishes_the_next_time() {
    use crate::store::twin::{Fault, Op};
    let world = World::new();
    let (leader, holder) = world.two().await;
    let _message = world.held_by(&holder, "1").await;
    world.store.fail_next(Op::Evict, Fault::AfterEffect);

    holder.die();
    world.pass(Duration::from_secs(1)).await;

    assert!(leader.counts("puruto_takeover_naks_total 1"));
    assert!(leader.counts("puruto_store_faults_total{kind=\"timed_out\"} 1"));
    assert_eq!(world.store.roster().await.unwrap().len(), 1);
}
