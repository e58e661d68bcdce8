//! Worker processes as a supervisor sees them, on a paused clock, over the twins.

use std::{path::Path, sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use super::super::{LaneCare, Leading, Supervisor, Unserved, attend, verdict::STABLE_FOR};
use crate::{
    broker::{Broker as _, Delivery, Headers, Pull as _, twin::BrokerTwin},
    clock::{Chance, Clock, WallTime},
    contract::{Deadline, Draft, Fingerprint, Lane, Limits, MintedIds, PurutoName, Subjects},
    handler::crash::CrashAt,
    pipeline::{
        DelegationRules, EpochWatch, EventsOf, InFlight, LastChances, Pipeline, Ports, Session,
        SessionWatch,
    },
    policy::{Checked, LivePolicies, PolicySet},
    store::{
        Claim, ClaimAnswer, Claims as _, MAX_ATTEMPTS, Nonce, RequestKey, SESSION_TTL, SessionId,
        Sessions as _, Supervision as _, twin::StoreTwin,
    },
    telemetry::metrics::Metrics,
};

/// Ids are minted from its name.
pub(super) const STREAM: &str = "PURUTO_INVOKE";

pub(super) struct World {
    pub(super) clock: Clock,
    pub(super) broker: BrokerTwin,
    pub(super) store: StoreTwin,
    pub(super) chance: Chance,
}

/// A worker process as far as others see it.
pub(super) struct Process {
    pub(super) session: Arc<Session>,
    pub(super) metrics: Metrics,
    pub(super) tasks: Vec<JoinHandle<()>>,
    _sessions: watch::Sender<Option<Arc<Session>>>,
}

pub(super) fn target() -> PurutoName {
    "echo".parse().unwrap()
}

impl World {
    pub(super) fn new() -> Self {
        let clock = Clock::manual(WallTime::from_unix_millis(1_000_000));
        Self {
            broker: BrokerTwin::new(clock.clone()),
            store: StoreTwin::new(clock.clone()),
            clock,
            chance: Chance::seeded(1),
        }
    }

    pub(super) async fn process(&self) -> Process {
        self.process_serving(&["echo"]).await
    }

    pub(super) async fn process_serving(&self, targets: &[&str]) -> Process {
        let id = SessionId::fresh(&self.chance);
        let targets: Vec<_> = targets.iter().map(|it| it.parse().unwrap()).collect();
        self.store.open(&id, "w", &targets).await.unwrap();
        let good_for = Duration::from_secs(3_600);
        let session = Arc::new(Session::new(id, Instant::now(), good_for));
        let (sender, receiver) = watch::channel(Some(Arc::clone(&session)));
        let (sessions, metrics) = (SessionWatch::new(receiver), Metrics::new([]));
        let supervisor = Supervisor {
            broker: self.broker.clone(),
            store: self.store.clone(),
            sessions: sessions.clone(),
            lanes: LaneCare {
                broker: self.broker.clone(),
                subjects: Subjects::default(),
                clock: self.clock.clone(),
                metrics: metrics.clone(),
            },
            unserved: self.unserved(&sessions, &metrics),
            leading: Leading::default(),
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

    fn unserved(
        &self,
        sessions: &SessionWatch,
        metrics: &Metrics,
    ) -> Unserved<BrokerTwin, StoreTwin> {
        Unserved {
            pipeline: Pipeline::new(Ports {
                broker: self.broker.clone(),
                claims: self.store.clone(),
                policies: LivePolicies::fixed(policies()),
                subjects: Subjects::default(),
                invoke_stream: STREAM.to_owned(),
                clock: self.clock.clone(),
                chance: self.chance.clone(),
                worker: "w".to_owned(),
                in_flight: InFlight::default(),
                sessions: sessions.clone(),
                last_chances: LastChances::new(MAX_ATTEMPTS),
                epochs: EpochWatch::default(),
                delegation: DelegationRules {
                    max_children: 4,
                    root: Limits::default(),
                },
                crash: CrashAt::default(),
                hand_over: CancellationToken::new(),
                events: EventsOf::None,
                metrics: metrics.clone(),
            }),
            broker: self.broker.clone(),
            store: self.store.clone(),
            folders: vec!["in-a-folder".parse().unwrap()],
            subjects: Subjects::default(),
            clock: self.clock.clone(),
            metrics: metrics.clone(),
        }
    }

    /// A leader and another, whose connections have been up for long enough.
    pub(super) async fn two(&self) -> (Process, Process) {
        let leader = self.process().await;
        self.pass(Duration::from_secs(1)).await;
        let other = self.process().await;
        self.pass(STABLE_FOR).await;
        (leader, other)
    }

    /// Lets time pass in small steps, on both clocks.
    pub(super) async fn pass(&self, time: Duration) {
        let step = Duration::from_millis(50);
        for _ in 0..time.as_millis() / step.as_millis() {
            self.clock.advance(step);
            sleep(step).await;
        }
    }

    /// A request that `process` holds, and its delivery.
    pub(super) async fn held_by(&self, process: &Process, id: &str) -> Delivery {
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

    /// `process` claims what is delivered next to `clerk`; under this nonce.
    pub(super) async fn clerk_holds(&self, process: &Process, id: &str) -> Nonce {
        self.clerk_takes(process, id).await.0
    }

    /// The same, and the delivery.
    pub(super) async fn clerk_takes(&self, process: &Process, id: &str) -> (Nonce, Delivery) {
        let clerk: PurutoName = "clerk".parse().unwrap();
        let mut lane = self.broker.lane(&clerk, Lane::Normal).await.unwrap();
        lane.demand(1);
        let delivery = lane.next().await;
        let minted = MintedIds::of_message(STREAM, delivery.sequence, 0);
        let request = Draft::parse(&delivery.body).unwrap().complete(minted);
        let mut claim = self.claim(process, id, &delivery);
        claim.fingerprint = request.fingerprint();
        claim.key.target = clerk;
        let nonce = claim.nonce;
        let answer = self.store.claim(claim).await;
        assert!(matches!(answer, Ok(ClaimAnswer::Claimed(_))), "{answer:?}");
        (nonce, delivery)
    }

    pub(super) fn claim(&self, process: &Process, id: &str, delivery: &Delivery) -> Claim {
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

    pub(super) async fn lives(&self, process: &Process) -> bool {
        let roster = self.store.roster().await.unwrap();
        roster
            .iter()
            .any(|it| it.session == process.session.id && it.lives)
    }
}

/// Lets `cli` ask anything of `clerk`, and of nobody else.
fn policies() -> PolicySet {
    let text = br#"{"allowed_targets": ["clerk"]}"#;
    let checked = Checked::parse(&"cli".parse().unwrap(), Path::new("here"), text);
    PolicySet::from_iter([checked.unwrap().policy])
}

async fn renew(store: StoreTwin, session: SessionId) {
    loop {
        sleep(SESSION_TTL / 4).await;
        store.renew(&session).await.unwrap();
    }
}

impl Process {
    pub(super) fn die(&self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }

    pub(super) fn counts(&self, line: &str) -> bool {
        self.metrics.render().lines().any(|it| it == line)
    }

    /// The value of a series; nothing where there is none.
    pub(super) fn reads(&self, series: &str) -> Option<u64> {
        let text = self.metrics.render();
        let value = text.lines().find_map(|line| line.strip_prefix(series))?;
        value.trim().parse().ok()
    }
}
