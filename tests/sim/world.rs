//! Workers over one broker and one store, a clock that stands still, and a handler that counts.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use puruto_fleet::{
    broker::{Broker as _, Delivery, Headers, Pull as _, twin::BrokerTwin},
    chaos::{
        checker::Verdict,
        history::{Digest, Event},
    },
    clock::{Chance, Clock, WallTime},
    contract::{Lane, Limits, PurutoName, ResultError, Subjects},
    handler::{Context, Ended, Handler, crash::CrashAt},
    pipeline::{
        DelegationRules, EpochWatch, EventsOf, InFlight, LastChances, Pipeline, Ports, Served,
        Service, Session, SessionWatch, Settled, Slots,
    },
    policy::{LivePolicies, PolicySet},
    puruto::Actions,
    store::{Epoch, MAX_ATTEMPTS, Renewal, RequestKey, SessionId, Sessions as _, twin::StoreTwin},
    telemetry::metrics::Metrics,
};
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use crate::{
    asking::{ASKS, ask_or_answer},
    joints::{Joints, Mischief, SimBroker, SimClaims},
    mutants::Mutant,
    scenario::{ids, place},
    told::{Teller, Told},
};

/// How long results are kept after the store was emptied.
const RESULTS_KEPT: Duration = Duration::from_secs(72 * 3600);

/// How long a renewal of a session is trusted.
const SESSION_GOOD_FOR: Duration = Duration::from_secs(12);

/// The joint between a claim and the run: a worker that dies there has made an attempt.
const CLAIMED: usize = 1;

pub struct World {
    pub clock: Clock,
    pub broker: BrokerTwin,
    pub store: StoreTwin,
    handler: Arc<Counting>,
    epochs: EpochWatch,
    epoch: Mutex<Option<Epoch>>,
    chance: Chance,
    too_early: Arc<AtomicUsize>,
    /// The same story as a history.
    pub told: Told,
    mutant: Mutant,
    workers: AtomicUsize,
}

/// Answers with the number of the execution, so that no two executions have the same result.
struct Counting {
    started: AtomicUsize,
    store: StoreTwin,
    /// Executions that began when the request was already done (S5).
    too_late: AtomicUsize,
}

/// The handler as one worker has it.
struct Telling {
    handler: Arc<Counting>,
    teller: Teller,
}

impl Handler for Telling {
    fn handle(&self, context: Context) -> BoxFuture<'_, Result<Ended, ResultError>> {
        self.teller.started();
        self.handler.handle(context)
    }
}

impl Handler for Counting {
    fn handle(&self, context: Context) -> BoxFuture<'_, Result<Ended, ResultError>> {
        let number = self.started.fetch_add(1, Ordering::SeqCst) + 1;
        let key = RequestKey {
            target: context.request.target.clone(),
            request: context.request.request_id.clone(),
        };
        let record = self.store.record(&key).map(|it| it.state);
        if matches!(record, Some(puruto_fleet::store::RecordState::Done { .. })) {
            self.too_late.fetch_add(1, Ordering::SeqCst);
        }
        Box::pin(async move {
            match context.request.prompt.as_str() {
                "slow" => sleep(Duration::from_secs(3_600)).await,
                ASKS => return ask_or_answer(&context).await,
                _ => {}
            }
            let answer = json!({ "summary": format!("execution {number}") });
            Ok(Ended::Answer(answer))
        })
    }
}

/// One worker process.
pub struct SimWorker {
    pipeline: Pipeline<SimBroker, SimClaims>,
    pub joints: Joints,
    session: SessionId,
    served: Arc<Served>,
    slots: Slots,
    // The session ends with its sender.
    _sessions: watch::Sender<Option<Arc<Session>>>,
    side_work: JoinSet<()>,
}

pub fn target() -> PurutoName {
    "puruto-financial".parse().unwrap()
}

impl World {
    pub fn new() -> Self {
        Self::with(Mutant::Sound)
    }

    /// A world in whose fleet this is broken.
    pub fn with(mutant: Mutant) -> Self {
        let clock = Clock::manual(WallTime::from_unix_millis(1_000_000_000));
        let store = StoreTwin::new(clock.clone());
        Self {
            broker: BrokerTwin::new(clock.clone()),
            handler: Arc::new(Counting {
                started: AtomicUsize::new(0),
                store: store.clone(),
                too_late: AtomicUsize::new(0),
            }),
            store,
            clock,
            epochs: EpochWatch::default(),
            epoch: Mutex::new(None),
            chance: Chance::seeded(7),
            too_early: Arc::default(),
            told: Told::new(),
            mutant,
            workers: AtomicUsize::new(0),
        }
    }

    pub fn executions(&self) -> usize {
        self.handler.started.load(Ordering::SeqCst)
    }

    /// Counts on behalf of a task of its own.
    pub fn counter(&self) -> impl Fn() -> usize + Send + use<> {
        let handler = Arc::clone(&self.handler);
        move || handler.started.load(Ordering::SeqCst)
    }

    pub fn acks_before_any_result(&self) -> usize {
        self.too_early.load(Ordering::SeqCst)
    }

    pub fn executions_after_done(&self) -> usize {
        self.handler.too_late.load(Ordering::SeqCst)
    }

    /// What the history proves, together with what stands now.
    pub fn verdict(&self) -> Verdict {
        let (_, request) = ids();
        if let Some(stored) = self.broker.results().get(&place()) {
            let result: Value = serde_json::from_slice(&stored.body).expect("a result is JSON");
            let code = result["error"]["code"].clone();
            self.told.note(Event::Stands {
                request,
                digest: Digest::of(&stored.body),
                code: serde_json::from_value(code).expect("a code or none"),
                kind: result["error"]["details"]["kind"]
                    .as_str()
                    .map(str::to_owned),
            });
        }
        for sequence in self.broker.pending() {
            self.told.note(Event::LeftInStream { sequence });
        }
        self.told.verdict()
    }

    pub fn publish(&self, body: &Value) -> u64 {
        let subject = Subjects::default().invoke(&target(), Lane::Normal);
        self.broker
            .publish(&subject, Headers::new(), body.to_string())
    }

    /// A fresh worker with a live session; it learns, as a real one does, whether the store was
    /// emptied.
    pub async fn worker(&self, mischief: Mischief) -> SimWorker {
        let number = self.workers.fetch_add(1, Ordering::SeqCst);
        let teller = self.told.teller(number);
        let joints = Joints::new(mischief, self.store.clone(), teller.clone());
        let session = SessionId::fresh(&self.chance);
        let epoch = self.store.open(&session, "sim", &[target()]).await.unwrap();
        self.note_epoch(epoch);
        let live = Arc::new(Session::new(
            session.clone(),
            Instant::now(),
            SESSION_GOOD_FOR,
        ));
        let (sender, receiver) = watch::channel(Some(Arc::clone(&live)));
        let metrics = Metrics::new([&target()]);
        let in_flight = InFlight::default();
        let served = self.served(teller, &metrics);
        let (broker, claims) = self.servers(&joints);
        let ports = Ports {
            broker,
            claims,
            policies: LivePolicies::fixed(policies()),
            subjects: Subjects::default(),
            invoke_stream: "PURUTO_INVOKE".to_owned(),
            clock: self.clock.clone(),
            chance: self.chance.clone(),
            worker: "sim".to_owned(),
            in_flight: in_flight.clone(),
            sessions: SessionWatch::new(receiver),
            last_chances: LastChances::new(MAX_ATTEMPTS),
            epochs: self.epochs.clone(),
            delegation: DelegationRules {
                max_children: 4,
                root: Limits {
                    descendants: Some(8),
                    ..Limits::default()
                },
            },
            crash: CrashAt::default(),
            hand_over: CancellationToken::new(),
            events: EventsOf::All,
            metrics,
        };
        let mut side_work = JoinSet::new();
        side_work.spawn(renewals(live, self.store.clone(), self.mutant));
        side_work.spawn(cancels(self.broker.clone(), in_flight.clone()));
        SimWorker {
            pipeline: Pipeline::new(ports),
            joints,
            session,
            served,
            slots: Slots::new(1),
            _sessions: sender,
            side_work,
        }
    }

    fn served(&self, teller: Teller, metrics: &Metrics) -> Arc<Served> {
        let handler = Arc::clone(&self.handler);
        Arc::new(Served {
            name: target(),
            service: Service::Here {
                actions: Actions::Every,
                handler: Arc::new(Telling { handler, teller }),
                budget: Limits::default(),
            },
            metrics: metrics.target(&target()),
        })
    }

    /// Broker and store as a worker with these joints reaches them.
    fn servers(&self, joints: &Joints) -> (SimBroker, SimClaims) {
        let broker = SimBroker {
            twin: self.broker.clone(),
            joints: joints.clone(),
            too_early: Arc::clone(&self.too_early),
        };
        let claims = SimClaims {
            twin: self.store.clone(),
            joints: joints.clone(),
            mutant: self.mutant,
            broker: self.broker.clone(),
        };
        (broker, claims)
    }

    fn note_epoch(&self, epoch: Epoch) {
        let mut known = self.epoch.lock().unwrap();
        if known.as_ref().is_some_and(|known| *known != epoch) {
            self.epochs
                .emptied_until(self.clock.now().saturating_add(RESULTS_KEPT));
        }
        *known = Some(epoch);
    }

    /// The next delivery, once it is due.
    pub async fn delivery(&self) -> Delivery {
        let mut lane = self.broker.lane(&target(), Lane::Normal).await.unwrap();
        lane.demand(1);
        lane.next().await
    }

    /// A worker died: its session ends, and what it had not settled comes again.
    pub async fn bury(&self, worker: &mut SimWorker) {
        worker.side_work.abort_all();
        tokio::time::advance(2 * SESSION_GOOD_FOR).await;
        self.store.expire_session(&worker.session);
        for sequence in self.broker.pending() {
            self.broker.redeliver_now(sequence);
        }
    }

    /// A worker dies right after it has claimed the next delivery.
    pub async fn kill_whoever_claims_next(&self) {
        let mut worker = self.worker(Mischief::Die(CLAIMED)).await;
        let (joints, walk) = worker.start(self.delivery().await);
        tokio::select! {
            _ = walk => panic!("nothing to die of"),
            () = joints.stopped() => self.bury(&mut worker).await,
        }
    }

    /// A healthy worker takes whatever is left, until nothing is.
    pub async fn finish(&self) {
        for _ in 0..20 {
            if self.broker.pending().is_empty() {
                return;
            }
            let worker = self.worker(Mischief::None).await;
            worker.process(self.delivery().await).await;
        }
        panic!(
            "still pending after 20 deliveries: {:?}",
            self.broker.pending()
        );
    }
}

impl SimWorker {
    pub async fn process(&self, delivery: Delivery) -> Settled {
        self.start(delivery).1.await
    }

    /// A walk that does not borrow its worker, and the joints at which it may stop.
    pub fn start(&self, delivery: Delivery) -> (Joints, impl Future<Output = Settled> + use<>) {
        let slot = self
            .slots
            .take()
            .expect("one walk at a time, which gives its slot back");
        let (pipeline, served) = (self.pipeline.clone(), Arc::clone(&self.served));
        let walk = async move {
            let settled = pipeline.process(delivery, served, slot).await;
            if let Settled::Acked { tidy: Some(key) } = &settled {
                pipeline.tidy(key).await;
            }
            settled
        };
        (self.joints.clone(), walk)
    }
}

async fn renewals(session: Arc<Session>, store: StoreTwin, mutant: Mutant) {
    loop {
        sleep(SESSION_GOOD_FOR / 3).await;
        let sent = Instant::now();
        match store.renew(&session.id).await {
            Ok(Renewal::Renewed { .. }) => session.renewed(sent),
            Ok(Renewal::Fenced) if mutant == Mutant::RenewRecreates => {
                store.open(&session.id, "sim", &[target()]).await.unwrap();
                session.renewed(sent);
            }
            // A real worker opens another one; here another worker is started.
            Ok(Renewal::Fenced) => return session.fence(),
            Err(_) => {}
        }
    }
}

async fn cancels(broker: BrokerTwin, in_flight: InFlight) {
    loop {
        in_flight.cancel(&broker.next_cancel().await);
    }
}

/// Reservations may ask financial to pay, and nothing else.
fn policies() -> PolicySet {
    let workers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sim/policies");
    let (set, findings) = PolicySet::load(&workers);
    assert!(findings.is_empty(), "{findings:?}");
    set
}
