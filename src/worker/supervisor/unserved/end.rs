//! Ends requests: reads them, and walks with them as if they had been delivered.

use std::{future::Future, sync::Arc};

use futures_util::future::join_all;

use super::{Fault, Unserved, place::Waiting};
use crate::{
    broker::{
        BrokerFault, DeadLetter, DeadReason, Delivery, Lanes, Stored, StoredMessage, WalkBroker,
    },
    contract::PurutoName,
    pipeline::{Served, Service, Settled, Slot},
    store::{Supervision, WalkStore},
    telemetry::labels::UnservedEnd,
};

/// From how many lanes requests are refused at once ...
const LANES_AT_ONCE: usize = 32;

/// ... and how many of each of them.
const BATCH: u64 = 4;

/// How many messages of one lane one look reads at most; the next one reads on.
pub(super) const READ_MAX: u64 = 1_024;

/// Also when one fails: a walk that is dropped half way leaves a claim behind that nobody works on.
async fn to_their_ends<F>(all: impl Iterator<Item = F>) -> Result<(), Fault>
where
    F: Future<Output = Result<(), Fault>>,
{
    join_all(all).await.into_iter().collect()
}

/// Whose requests are ended, and why.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    pub(super) served: Arc<Served>,
    pub(super) why: UnservedEnd,
}

impl<B, S> Unserved<B, S>
where
    B: WalkBroker + Stored + Lanes,
    S: Supervision + WalkStore,
{
    /// Ends everything that lies where nobody ever pulled.
    pub(super) async fn refuse(&self, lanes: &[Waiting]) -> Result<(), Fault> {
        for lanes in lanes.chunks(LANES_AT_ONCE) {
            let refusing = lanes.iter().map(|it| self.refuse_lane(it));
            to_their_ends(refusing).await?;
        }
        Ok(())
    }

    async fn refuse_lane(&self, lane: &Waiting) -> Result<(), Fault> {
        let (mut from, mut left) = (1, lane.messages.min(READ_MAX));
        while left > 0 {
            let batch = self.batch(lane, &mut from, left.min(BATCH)).await?;
            if batch.is_empty() {
                break;
            }
            left = left.saturating_sub(BATCH);
            to_their_ends(batch.into_iter().map(|it| self.refuse_one(it, lane))).await?;
        }
        Ok(())
    }

    async fn batch(
        &self,
        lane: &Waiting,
        from: &mut u64,
        most: u64,
    ) -> Result<Vec<StoredMessage>, Fault> {
        let (filter, mut batch) = (lane.filter(), Vec::new());
        for _ in 0..most {
            let Some(message) = self.broker.next(*from, &filter).await? else {
                break;
            };
            *from = message.sequence.saturating_add(1);
            batch.push(message);
        }
        Ok(batch)
    }

    /// Answers that there is no such target, or buries what names none.
    pub(super) async fn refuse_one(
        &self,
        message: StoredMessage,
        lane: &Waiting,
    ) -> Result<(), Fault> {
        match lane.target() {
            Some(target) => {
                let served = self.served(target, Service::Nobody);
                let why = UnservedEnd::NotFound;
                self.end(message, lane, &Ending { served, why }).await?;
                Ok(())
            }
            None => {
                self.bury(message, lane, "its subject names no target")
                    .await
            }
        }
    }

    pub(super) fn served(&self, target: &PurutoName, service: Service) -> Arc<Served> {
        Arc::new(Served {
            name: target.clone(),
            service,
            metrics: self.metrics.target(target),
        })
    }

    /// Walks with a message; whether it is gone then.
    pub(super) async fn end(
        &self,
        message: StoredMessage,
        lane: &Waiting,
        ending: &Ending,
    ) -> Result<bool, Fault> {
        match message.into_delivery(lane.lane()) {
            Ok(delivery) => Ok(self.walk(delivery, ending).await),
            Err(unreadable) => {
                self.bury_unreadable(unreadable, lane).await?;
                Ok(true)
            }
        }
    }

    async fn walk(&self, delivery: Delivery, ending: &Ending) -> bool {
        let (served, slot) = (Arc::clone(&ending.served), Slot::of_its_own());
        let settled = Box::pin(self.pipeline.process(delivery, served, slot)).await;
        let Settled::Acked { tidy } = settled else {
            return false;
        };
        self.metrics.unserved_ended(ending.why);
        if let Some(key) = tidy {
            // Nobody waits for it, and it waits for others of its kind.
            let pipeline = self.pipeline.clone();
            tokio::spawn(async move { pipeline.tidy(&key).await });
        }
        true
    }

    pub(super) async fn bury_unreadable(
        &self,
        message: StoredMessage,
        lane: &Waiting,
    ) -> Result<(), Fault> {
        let detail = match &message.headers {
            Ok(_) => "nobody can read it".to_owned(),
            Err(unreadable) => unreadable.fault.to_string(),
        };
        self.bury(message, lane, &detail).await
    }

    /// Keeps a message as a dead letter, then removes it.
    async fn bury(
        &self,
        message: StoredMessage,
        lane: &Waiting,
        detail: &str,
    ) -> Result<(), Fault> {
        let sequence = message.sequence;
        let letter = DeadLetter {
            reason: DeadReason::Unreadable,
            detail: detail.into(),
            target: lane.target().cloned(),
            attempts: None,
            last_worker: None,
            request: None,
            correlation: None,
            message,
        };
        self.broker.bury(&letter).await?;
        // A worker whose connection it broke may have been quicker.
        if self.broker.remove(sequence).await? {
            self.metrics.buried(letter.reason);
            tracing::warn!(sequence, detail, "message buried");
        }
        Ok(())
    }

    /// The message `sequence` under the lane's subject, if it is still there.
    pub(super) async fn stored(
        &self,
        sequence: u64,
        lane: &Waiting,
    ) -> Result<Option<StoredMessage>, BrokerFault> {
        let message = self.broker.read(sequence).await?;
        Ok(message.filter(|it| it.subject == lane.subject))
    }
}
