//! One lane of the twin, pulled from.

use std::{fmt, sync::Arc};

use tokio::time::Instant;

use super::{
    super::{ConsumerName, Delivery, Pull},
    Shared,
    queue::{Handed, Next},
};
use crate::{
    contract::{Lane, PurutoName},
    store::AckToken,
};

/// A lane of the twin.
pub struct TwinLane {
    shared: Arc<Shared>,
    consumer: ConsumerName,
    subject: String,
    lane: Lane,
    demanded: usize,
    backlog: u64,
}

impl fmt::Debug for TwinLane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TwinLane({}, {} demanded)", self.subject, self.demanded)
    }
}

impl TwinLane {
    pub(super) fn new(shared: Arc<Shared>, target: &PurutoName, lane: Lane) -> Self {
        let subject = shared.subjects.invoke(target, lane);
        let consumer = ConsumerName::of(target, lane);
        shared.state().queue.create_consumer(&consumer);
        Self {
            shared,
            consumer,
            subject,
            lane,
            demanded: 0,
            backlog: 0,
        }
    }

    fn delivery(&mut self, handed: Handed) -> Delivery {
        self.demanded -= 1;
        self.backlog = handed.pending;
        let token = format!(
            "$JS.ACK.TWIN_INVOKE.{}.{}.{}.{}.{}.{}",
            self.consumer.as_str(),
            handed.delivered,
            handed.sequence,
            handed.consumer_sequence,
            u128::from(handed.stored_at.unix_millis()) * 1_000_000,
            handed.pending,
        );
        Delivery {
            subject: self.subject.as_str().into(),
            lane: self.lane,
            headers: handed.headers,
            body: handed.body,
            ack: AckToken::new(token),
            sequence: handed.sequence,
            delivered: handed.delivered,
            stored_at: handed.stored_at,
        }
    }

    fn hand_out(&self) -> Next {
        if self.demanded == 0 {
            return Next::Nothing;
        }
        let mut state = self.shared.state();
        state
            .queue
            .hand_out(&self.consumer, &self.subject, Instant::now())
    }
}

impl Pull for TwinLane {
    fn demanded(&self) -> usize {
        self.demanded
    }

    fn demand(&mut self, more: usize) {
        self.demanded = self.demanded.saturating_add(more);
    }

    fn withdraw(&mut self) {
        self.demanded = 0;
    }

    async fn next(&mut self) -> Delivery {
        let shared = Arc::clone(&self.shared);
        loop {
            let changed = shared.changed.notified();
            tokio::pin!(changed);
            // Enabled before looking, so that a change in between is not missed.
            changed.as_mut().enable();
            match self.hand_out() {
                Next::Now(handed) => return self.delivery(handed),
                Next::At(moment) => tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep_until(moment) => {}
                },
                Next::Nothing => changed.await,
            }
        }
    }

    fn backlog(&self) -> u64 {
        self.backlog
    }
}
