//! One lane of the twin, pulled from.

use std::{fmt, sync::Arc};

use tokio::time::Instant;

use super::{
    super::{ConsumerName, Delivery, Pull, ack_subject::AckSubject},
    Shared,
    queue::{Handed, Next},
    stored::STREAM,
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
        let ack = AckSubject {
            stream: STREAM,
            consumer: self.consumer.as_str(),
            delivered: handed.delivered,
            sequence: handed.sequence,
            consumer_sequence: handed.consumer_sequence,
            stored_at: handed.stored_at,
            pending: handed.pending,
        };
        Delivery {
            subject: self.subject.as_str().into(),
            lane: self.lane,
            headers: handed.headers,
            body: handed.body,
            ack: AckToken::new(ack.to_string()),
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
