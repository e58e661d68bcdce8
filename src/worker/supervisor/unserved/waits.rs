//! Waits: requests that wait without a worker, woken where their wake got lost and ended where
//! nothing can come of the waiting any more.
//!
//! Whoever ends last among the children wakes their parent; this is for when that did not arrive,
//! and for what takes no worker at all: a cancel, a deadline.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::{
    sync::watch as channel,
    time::{MissedTickBehavior, interval},
};

use super::{super::lease::Lead, Fault, Unserved, end::Ending, place::Waiting};
use crate::{
    broker::{Lanes, Stored, SubjectCount, WalkBroker, settled_by},
    pipeline::Service,
    store::{
        RecordState, RequestKey, Supervision, WalkStore,
        kin::{Child, ChildEnd, ChildEnded, Due, DueFor, Woken},
    },
    telemetry::labels::UnservedEnd,
};

/// Between two looks at who is due.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A request that was woken or ended in vain is tried again after this.
const AGAIN: Duration = Duration::from_secs(2);

/// How many are looked after in one look.
const DUE_MAX: usize = 256;

/// How many of them at once.
const AT_ONCE: usize = 32;

impl<B, S> Unserved<B, S>
where
    B: WalkBroker + Stored + Lanes,
    S: Supervision + WalkStore,
{
    /// Looks after them for as long as this process leads. Never ends by itself.
    pub(in super::super) async fn attend_waits(&self, led: channel::Receiver<Option<Lead>>) {
        let mut ticks = interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let leads = led.borrow().as_ref().is_some_and(Lead::holds);
            if leads && let Err(fault) = self.look_at_waits().await {
                self.faulted(&fault);
            }
        }
    }

    async fn look_at_waits(&self) -> Result<(), Fault> {
        let due = self.store.due(DUE_MAX, AGAIN).await?;
        for some in due.chunks(AT_ONCE) {
            let all = join_all(some.iter().map(|it| self.see_to(it))).await;
            all.into_iter().collect::<Result<(), _>>()?;
        }
        Ok(())
    }

    async fn see_to(&self, due: &Due) -> Result<(), Fault> {
        match due.why {
            DueFor::Wake => self.broker.nak(&due.ack, Duration::ZERO).await,
            DueFor::End => self.end_waiting(due).await?,
            DueFor::Look => self.look_for_ends(&due.key).await?,
        }
        Ok(())
    }

    /// Walks with a request that nobody has to run any more.
    async fn end_waiting(&self, due: &Due) -> Result<(), Fault> {
        let Some(sequence) = settled_by(&due.ack) else {
            return Ok(());
        };
        let Some(message) = self.broker.read(sequence).await? else {
            return Ok(());
        };
        let subject = message.subject.clone();
        let count = SubjectCount {
            subject,
            messages: 1,
        };
        let lane = Waiting::of(count, &self.subjects);
        let ending = Ending {
            served: self.served(&due.key.target, Service::Away),
            why: UnservedEnd::Waited,
        };
        self.end(message, &lane, &ending).await?;
        Ok(())
    }

    /// Tells a parent of those of its children that have ended and could not tell it themselves.
    async fn look_for_ends(&self, parent: &RequestKey) -> Result<(), Fault> {
        let Some(wait) = self.store.wait(parent).await? else {
            return Ok(());
        };
        let running: Vec<Child> = wait.running().cloned().collect();
        let keys: Vec<_> = running.iter().map(|it| it.key.clone()).collect();
        let records = self.store.read(&keys).await?;
        for (child, record) in running.iter().zip(records) {
            let done = record.filter(|it| matches!(it.state, RecordState::Done { .. }));
            let Some(record) = done else {
                continue;
            };
            let ended = ChildEnded {
                place: child.place,
                end: ChildEnd::Answered,
                spent: record.spent,
            };
            if let Woken::Wake(ack) = self.store.child_ended(parent, &ended).await? {
                self.broker.nak(&ack, Duration::ZERO).await;
            }
        }
        Ok(())
    }
}
