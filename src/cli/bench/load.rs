//! The client: publishes, keeps so many in flight, notes when each result came.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::try_join_all;
use serde_json::json;
use tokio::{
    sync::oneshot,
    time::{Instant, timeout},
};

use super::{
    BenchArgs, BenchFault,
    fleet::{BenchFleet, CALLER, TARGET},
};
use crate::{
    broker::{
        Asking as _, Headers,
        nats::{NatsClient, NatsOptions, ResultSubscription},
    },
    clock::Chance,
    contract::{CorrelationId, Lane, PurutoName, Subjects},
};

/// How long the first result may take: the workers are still starting.
const FIRST_WITHIN: Duration = Duration::from_secs(30);
/// How long any other may take beyond the model's own time.
const RESULT_WITHIN: Duration = Duration::from_secs(60);

/// A client that is ready to go: connected, subscribed, and answered once.
pub(super) struct Load {
    caller: Caller,
    results: ResultSubscription,
}

/// The publishing side.
struct Caller {
    client: NatsClient,
    correlation: CorrelationId,
    subject: String,
    prompt: String,
    /// The number of the next invocation: each has one of its own.
    next: Cell<usize>,
    n: usize,
    in_flight: usize,
    patience: Duration,
}

/// What was seen.
#[derive(Debug)]
pub(super) struct Measured {
    /// From the publish's begin to the result's arrival, each.
    pub(super) latencies: Vec<Duration>,
    /// Results beyond one a request.
    pub(super) repeated: usize,
}

type Waiting = RefCell<HashMap<usize, oneshot::Sender<()>>>;

impl Load {
    pub(super) async fn prepare(
        args: &BenchArgs,
        fleet: &BenchFleet,
        chance: &Chance,
    ) -> Result<Self, BenchFault> {
        let options = NatsOptions::new(fleet.nats.url(), "bench", "bench");
        let client = Box::pin(NatsClient::connect(options)).await?;
        let correlation = format!("bench-{:08x}", chance.bits128() & 0xffff_ffff);
        let correlation: CorrelationId = correlation.parse().expect("letters and digits");
        let target: PurutoName = TARGET.parse().expect("a name");
        let mut first_results = client.results(&correlation).await?;
        let caller = Caller {
            client,
            correlation,
            subject: Subjects::default().invoke(&target, Lane::Normal),
            prompt: "x".repeat(args.prompt_bytes),
            next: Cell::new(0),
            n: args.n.get(),
            in_flight: args.in_flight.get(),
            patience: RESULT_WITHIN + 2 * args.latency,
        };
        caller.first(&mut first_results, args.latency).await?;
        let results = caller.client.all_results().await?;
        Ok(Self { caller, results })
    }

    /// Publishes as many as are wanted and waits for every result.
    pub(super) async fn run(&mut self) -> Result<Measured, BenchFault> {
        let Self { caller, results } = self;
        let waiting = Waiting::default();
        let repeated = Cell::new(0);
        let listen = async {
            while let Some((subject, _)) = results.next().await {
                let number = subject.rsplit('.').next().and_then(|it| it.parse().ok());
                let waiter = number.and_then(|it: usize| waiting.borrow_mut().remove(&it));
                match waiter {
                    Some(waiter) => drop(waiter.send(())),
                    None => repeated.set(repeated.get() + 1),
                }
            }
        };
        let until = caller.next.get() + caller.n;
        let lanes = (0..caller.in_flight.min(caller.n))
            .map(|_| caller.one_after_the_other(until, &waiting));
        let latencies = tokio::select! {
            latencies = try_join_all(lanes) => latencies?.concat(),
            () = listen => return Err(BenchFault::NoResult(caller.patience)),
        };
        Ok(Measured {
            latencies,
            repeated: repeated.get(),
        })
    }

    /// How many dead letters there are.
    pub(super) async fn dead_letters(&self) -> Result<u64, BenchFault> {
        let counts = self.caller.client.dead_letter_counts().await?;
        Ok(counts.iter().map(|count| count.messages).sum())
    }
}

impl Caller {
    /// One invocation before the clock runs: it waits for the workers and warms the path.
    async fn first(
        &self,
        results: &mut ResultSubscription,
        latency: Duration,
    ) -> Result<(), BenchFault> {
        let ready = async {
            while self.publish(usize::MAX).await.is_err() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            results.next().await
        };
        let within = FIRST_WITHIN + 2 * latency;
        match timeout(within, ready).await {
            Ok(Some((_, result))) if !is_ok(&result.body) => Err(BenchFault::ErrorResult(
                String::from_utf8_lossy(&result.body).into_owned(),
            )),
            Ok(Some(_)) => Ok(()),
            Ok(None) | Err(_) => Err(BenchFault::NoResult(within)),
        }
    }

    async fn publish(&self, number: usize) -> Result<(), BenchFault> {
        let body = json!({
            "request_id": number.to_string(), "correlation_id": self.correlation.as_str(),
            "caller": CALLER, "target": TARGET, "action": "echo", "prompt": self.prompt,
            "timeout_sec": 86_400,
        });
        let body = Bytes::from(body.to_string());
        self.client
            .publish_request(&self.subject, &Headers::new(), body)
            .await?;
        Ok(())
    }

    async fn one_after_the_other(
        &self,
        until: usize,
        waiting: &Waiting,
    ) -> Result<Vec<Duration>, BenchFault> {
        let mut latencies = Vec::with_capacity(self.n / self.in_flight + 1);
        while self.next.get() < until {
            let number = self.next.replace(self.next.get() + 1);
            let (sender, result) = oneshot::channel();
            waiting.borrow_mut().insert(number, sender);
            let began = Instant::now();
            let both = async {
                // The result may overtake the publish's own confirmation.
                let (published, arrived) = tokio::join!(self.publish(number), result);
                published.map(|()| arrived)
            };
            match timeout(self.patience, both).await {
                Ok(Ok(Ok(()))) => latencies.push(began.elapsed()),
                Ok(Ok(Err(_))) | Err(_) => return Err(BenchFault::NoResult(self.patience)),
                Ok(Err(fault)) => return Err(fault),
            }
        }
        Ok(latencies)
    }
}

fn is_ok(body: &[u8]) -> bool {
    let status = br#""status":"ok""#;
    body.windows(status.len()).any(|window| window == status)
}
