//! What waits at the same moment goes out as one call.
//!
//! One batch of an operation is under way at a time; whatever comes meanwhile is the next one. So
//! batches grow with the load and a lone call is not delayed. Never: what a batch means.

use std::{sync::Arc, time::Duration};

use redis::Value;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout, timeout_at},
};

use super::{
    super::{Attempt, FLAG_RETENTION, RequestKey, StoreFault},
    call::Call,
    fault,
    keys::Keys,
    link::Link,
    scripts::Script,
};

/// How many requests one call may name: the server does nothing else meanwhile, about 1 ms.
const BATCH_MAX: usize = 256;
/// How many bytes of payload start the next batch.
const BATCH_BYTES: usize = 1024 * 1024;
/// How many may wait; beyond that, whoever comes waits for a place, within its bound.
const QUEUE_MAX: usize = 16 * 1024;

/// What a batch needs besides its items.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) link: Link,
    pub(super) keys: Keys,
    pub(super) retention: Duration,
    pub(super) max_attempts: Attempt,
}

impl Engine {
    /// How long what lies beside a record is kept. No request may take longer than a flag is kept,
    /// so no record outlives it.
    pub(super) fn kept_beside(&self) -> Duration {
        self.retention + FLAG_RETENTION
    }
}

/// One request's part of a batched call.
pub(super) trait Batched: Send + 'static {
    /// What the script answers for it.
    type Answer: Send + 'static;
    /// The script.
    const SCRIPT: &'static Script;
    /// How long a batch waits for more; zero where someone waits for the answer.
    const LINGER: Duration = Duration::ZERO;

    fn key(&self) -> &RequestKey;
    fn payload(&self) -> usize {
        0
    }
    /// The arguments of the call as a whole.
    fn write_common(_call: &mut Call, _engine: &Engine) {}
    /// The arguments of this request.
    fn write(&self, _call: &mut Call) {}
    fn read(answer: &Value) -> Option<Self::Answer>;
}

struct Waiting<I: Batched> {
    item: I,
    answer: oneshot::Sender<Result<I::Answer, StoreFault>>,
}

/// Hands items to the one task that sends them.
#[derive(Debug)]
pub(super) struct Batcher<I: Batched> {
    queue: mpsc::Sender<Waiting<I>>,
    bound: Duration,
}

impl<I: Batched> Batcher<I> {
    /// A batcher whose task ends with it.
    pub(super) fn start(engine: Arc<Engine>) -> Self {
        // For its turn, for a batch to gather, and for the call itself.
        let bound = engine.link.bound() * 2 + I::LINGER;
        let (queue, waiting) = mpsc::channel(QUEUE_MAX);
        tokio::spawn(serve::<I>(waiting, engine));
        Self { queue, bound }
    }

    /// Sends `item` with whatever else waits, and waits for its answer.
    ///
    /// # Errors
    /// The store did not answer within twice its bound, or refused.
    pub(super) async fn submit(&self, item: I) -> Result<I::Answer, StoreFault> {
        let (answer, answered) = oneshot::channel();
        let asking = async {
            let queued = self.queue.send(Waiting { item, answer }).await;
            queued.ok()?;
            answered.await.ok()
        };
        match timeout(self.bound, asking).await {
            Ok(Some(answer)) => answer,
            // The task ends only with the runtime.
            Ok(None) => Err(fault::unreachable("the store", "this process is ending")),
            Err(_) => Err(StoreFault::TimedOut {
                operation: I::SCRIPT.name,
                after: self.bound,
            }),
        }
    }
}

async fn serve<I: Batched>(mut waiting: mpsc::Receiver<Waiting<I>>, engine: Arc<Engine>) {
    while let Some(first) = waiting.recv().await {
        let batch = gather(first, &mut waiting).await;
        let groups = engine.keys.group(batch, |it| it.item.key());
        let calls = groups.into_iter().map(|group| send(group, &engine));
        futures_util::future::join_all(calls).await;
    }
}

/// `first` and what else waits, as far as one call can take it.
async fn gather<I: Batched>(
    first: Waiting<I>,
    waiting: &mut mpsc::Receiver<Waiting<I>>,
) -> Vec<Waiting<I>> {
    let until = Instant::now() + I::LINGER;
    let mut bytes = 0;
    let mut batch = Vec::with_capacity(BATCH_MAX.min(waiting.len() + 1));
    let mut next = Some(first);
    while let Some(one) = next {
        // Whoever gave up is not asked for.
        if !one.answer.is_closed() {
            bytes += one.item.payload();
            batch.push(one);
        }
        if batch.len() == BATCH_MAX || bytes >= BATCH_BYTES {
            break;
        }
        next = match waiting.try_recv() {
            Ok(one) => Some(one),
            Err(_) if I::LINGER.is_zero() => None,
            Err(_) => timeout_at(until, waiting.recv()).await.ok().flatten(),
        };
    }
    batch
}

async fn send<I: Batched>(batch: Vec<Waiting<I>>, engine: &Engine) {
    if batch.is_empty() {
        return;
    }
    let call = pack(&batch, engine);
    match engine.link.call(&call).await {
        Ok(Value::Array(answers)) if answers.len() == batch.len() => {
            for (one, answer) in batch.into_iter().zip(&answers) {
                let read = I::read(answer).ok_or_else(|| fault::nonsense(I::SCRIPT.name, answer));
                give(one, read);
            }
        }
        Ok(other) => {
            let fault = fault::nonsense(I::SCRIPT.name, &other);
            batch
                .into_iter()
                .for_each(|one| give(one, Err(fault.clone())));
        }
        Err(fault) => batch
            .into_iter()
            .for_each(|one| give(one, Err(fault.clone()))),
    }
}

fn pack<I: Batched>(batch: &[Waiting<I>], engine: &Engine) -> Call {
    let payload = batch.iter().map(|it| it.item.payload()).sum();
    let mut call = Call::new(I::SCRIPT, batch.len(), payload);
    for one in batch {
        call.record(&engine.keys, one.item.key());
    }
    I::write_common(&mut call, engine);
    for one in batch {
        one.item.write(&mut call);
    }
    call
}

fn give<I: Batched>(one: Waiting<I>, answer: Result<I::Answer, StoreFault>) {
    // Whoever asked may have given up; the script's effect stands.
    let _given_up = one.answer.send(answer);
}
