//! What happens in the world besides the mischief.

use std::time::Duration;

use puruto_fleet::{
    broker::twin::BrokerTwin,
    chaos::history::{CancelTold, Event, Expected},
    contract::{CorrelationId, RequestId, Subjects},
    store::{
        MAX_ATTEMPTS, Records as _, RequestKey,
        twin::{Fault, Op, StoreTwin},
    },
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    joints::Mischief,
    told::Told,
    world::{SimWorker, World, target},
};

/// Whoever has not ended by then sleeps for good.
const LONG_ENOUGH: Duration = Duration::from_secs(600);

/// Longer than any story takes.
const NO_TIME_PASSES: Duration = Duration::from_secs(86_400);

/// More calls than a worker makes before it gives a delivery back.
pub const PATIENCE_IN_CALLS: usize = 30;

/// A story and how it has to end.
pub struct Scenario {
    pub name: &'static str,
    /// Executions when nothing goes wrong.
    pub executions: usize,
    /// The code of the one error, or `None` for status ok.
    pub code: Option<&'static str>,
    /// Another answer that may stand beside it, under a subject of its own.
    pub aside: Option<&'static str>,
    /// Whether it ends in the same way when the store forgets everything; a cancel flag does not
    /// come back.
    pub survives_an_emptied_store: bool,
    /// How many workers die with it at the start.
    deaths: usize,
    bodies: fn() -> Vec<Value>,
    cancel: Cancel,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cancel {
    Never,
    Queued,
    Running,
}

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "one request",
        executions: 1,
        code: None,
        aside: None,
        survives_an_emptied_store: true,
        deaths: 0,
        bodies: || vec![body("pay", "pay_invoice")],
        cancel: Cancel::Never,
    },
    Scenario {
        name: "the same request twice",
        executions: 1,
        code: None,
        aside: None,
        survives_an_emptied_store: true,
        deaths: 0,
        bodies: || vec![body("pay", "pay_invoice"), body("pay", "pay_invoice")],
        cancel: Cancel::Never,
    },
    Scenario {
        name: "the same id with another payload",
        executions: 1,
        code: None,
        aside: Some("request_id_conflict"),
        survives_an_emptied_store: false,
        deaths: 0,
        bodies: || vec![body("pay", "pay_invoice"), body("pay more", "pay_invoice")],
        cancel: Cancel::Never,
    },
    Scenario {
        name: "a denied request",
        executions: 0,
        code: Some("DENIED"),
        aside: None,
        survives_an_emptied_store: true,
        deaths: 0,
        bodies: || vec![body("pay", "delete_ledger")],
        cancel: Cancel::Never,
    },
    Scenario {
        name: "no request at all",
        executions: 0,
        code: Some("IPC_ERROR"),
        aside: None,
        survives_an_emptied_store: true,
        deaths: 0,
        bodies: || vec![json!({"request_id": "r", "correlation_id": "c", "hop": -1})],
        cancel: Cancel::Never,
    },
    Scenario {
        name: "a request that is too late",
        executions: 1,
        code: Some("TIMEOUT"),
        aside: None,
        survives_an_emptied_store: true,
        deaths: 0,
        bodies: || vec![body("slow", "pay_invoice")],
        cancel: Cancel::Never,
    },
    Scenario {
        name: "a request cancelled while it was queued",
        executions: 0,
        code: Some("CANCELLED"),
        aside: None,
        survives_an_emptied_store: false,
        deaths: 0,
        bodies: || vec![body("pay", "pay_invoice")],
        cancel: Cancel::Queued,
    },
    Scenario {
        name: "a request cancelled while it ran",
        executions: 1,
        code: Some("CANCELLED"),
        aside: None,
        survives_an_emptied_store: false,
        deaths: 0,
        bodies: || vec![body("slow", "pay_invoice")],
        cancel: Cancel::Running,
    },
    Scenario {
        name: "a request that took all its workers down",
        executions: 0,
        code: Some("IPC_ERROR"),
        aside: None,
        survives_an_emptied_store: false,
        deaths: MAX_ATTEMPTS.number() as usize,
        bodies: || vec![body("pay", "pay_invoice")],
        cancel: Cancel::Never,
    },
    Scenario {
        name: "a request that took all its workers down and was cancelled",
        executions: 0,
        code: Some("CANCELLED"),
        aside: None,
        survives_an_emptied_store: false,
        deaths: MAX_ATTEMPTS.number() as usize,
        bodies: || vec![body("pay", "pay_invoice")],
        cancel: Cancel::Queued,
    },
];

pub fn body(prompt: &str, action: &str) -> Value {
    body_of("r", prompt, action)
}

pub fn body_of(id: &str, prompt: &str, action: &str) -> Value {
    json!({
        "request_id": id, "correlation_id": "c", "caller": "puruto-reservations",
        "target": "puruto-financial", "action": action, "prompt": prompt, "timeout_sec": 60
    })
}

pub fn ids() -> (CorrelationId, RequestId) {
    ("c".parse().unwrap(), "r".parse().unwrap())
}

/// Where the result has to stand.
pub fn place() -> String {
    let (correlation, request) = ids();
    Subjects::default().result(&correlation, &request)
}

fn key() -> RequestKey {
    RequestKey {
        target: target(),
        request: ids().1,
    }
}

impl Scenario {
    /// Whether the mischief struck.
    pub async fn play(&self, world: &World, mischief: Mischief) -> bool {
        self.begin(world).await;
        let mut worker = world.worker(mischief).await;
        self.deliver_all(world, &mut worker).await;
        world.finish().await;
        worker.joints.struck()
    }

    /// A first worker dies at joint `first`, a second at joint `second` of what is left.
    pub async fn play_twice(&self, world: &World, first: usize, second: usize) -> (bool, bool) {
        self.begin(world).await;
        let mut one = world.worker(Mischief::Die(first)).await;
        self.deliver_all(world, &mut one).await;
        let mut two = world.worker(Mischief::Die(second)).await;
        self.deliver_all(world, &mut two).await;
        world.finish().await;
        (one.joints.struck(), two.joints.struck())
    }

    /// Its claims are carried out, but the answers get lost for longer than a worker is patient.
    pub async fn begun_by_a_worker_whose_claims_go_unanswered(&self, world: &World) -> SimWorker {
        self.begin(world).await;
        for _ in 0..PATIENCE_IN_CALLS {
            world.store.fail_next(Op::Claim, Fault::AfterEffect);
        }
        world.worker(Mischief::None).await
    }

    pub async fn begin(&self, world: &World) {
        for body in (self.bodies)() {
            let sequence = world.publish(&body);
            world.told.note(self.accepted(world, sequence));
        }
        for _ in 0..self.deaths {
            world.kill_whoever_claims_next().await;
        }
        match self.cancel {
            Cancel::Never => {}
            Cancel::Queued => {
                world.store.cancel(&key()).await.unwrap();
                world.told.note(cancelled());
            }
            Cancel::Running => {
                let (store, broker) = (world.store.clone(), world.broker.clone());
                let told = world.told.clone();
                tokio::spawn(cancel_once_running(world.counter(), store, broker, told));
            }
        }
    }

    fn accepted(&self, world: &World, sequence: u64) -> Event {
        let code = self.code.map(|it| serde_json::from_value(json!(it)));
        Event::Accepted {
            request: ids().1,
            sent: world.told.now(),
            // The world's own clock stands still: only who waits for the deadline sees it.
            within: NO_TIME_PASSES,
            expected: code.map_or(Expected::Done, |it| Expected::Refused(it.expect("a code"))),
            sequence,
        }
    }

    /// Gives `worker` each message until it has stopped or nothing is left for it.
    async fn deliver_all(&self, world: &World, worker: &mut SimWorker) {
        for _ in 0..(self.bodies)().len() {
            if world.broker.pending().is_empty() {
                return;
            }
            let (joints, walk) = worker.start(world.delivery().await);
            tokio::pin!(walk);
            tokio::select! {
                biased;
                _ = &mut walk => continue,
                () = joints.stopped() => {}
            }
            world.bury(worker).await;
            world.finish().await;
            // A sleeper goes on where it was, some time later; whoever died does not.
            sleep(Duration::from_millis(1)).await;
            joints.wake();
            tokio::select! {
                biased;
                _ = &mut walk => {}
                () = sleep(LONG_ENOUGH) => {}
            }
            return;
        }
    }
}

fn cancelled() -> Event {
    Event::CancelAsked {
        request: ids().1,
        told: CancelTold::Flagged,
    }
}

/// Once a handler runs, flags the request and announces it, as a caller does.
async fn cancel_once_running(
    executions: impl Fn() -> usize,
    store: StoreTwin,
    broker: BrokerTwin,
    told: Told,
) {
    while executions() == 0 {
        sleep(Duration::from_millis(1)).await;
    }
    store.cancel(&key()).await.unwrap();
    told.note(cancelled());
    broker.announce_cancel(key());
}
