//! Keeps the deadlines of requests that wait for a worker: one that is away, or one that is busy.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures_util::future::join_all;

use super::{
    Fault, Unserved,
    end::Ending,
    place::{Kept, Waiting},
    watch::Watch,
};
use crate::{
    broker::{Lanes, Stored, WalkBroker},
    clock::WallTime,
    contract::Deadline,
    pipeline::Service,
    store::{Record, RecordState, RequestKey, Supervision, WalkStore},
    telemetry::labels::UnservedEnd,
};

/// How many requests are looked up in the store at once.
const LOOKED_UP: usize = 64;

/// How many requests of one lane are ended at once.
const ENDED_AT_ONCE: usize = 16;

/// A request that could not be ended is tried again after this.
const AGAIN: Duration = Duration::from_secs(5);

/// A message that was read, without its body.
struct Noted {
    sequence: u64,
    key: RequestKey,
    deadline: Deadline,
}

/// What stands behind the messages that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// More of them.
    More,
    /// Such as a worker may be given any moment.
    Young,
    /// Nothing.
    End,
}

impl<B, S> Unserved<B, S>
where
    B: WalkBroker + Stored + Lanes,
    S: Supervision + WalkStore,
{
    /// Ends the requests of the lanes `kept` that are due, or that need no worker any more.
    pub(super) async fn keep_time(
        &self,
        kept: &[Kept],
        watches: &mut HashMap<Box<str>, Watch>,
    ) -> Result<(), Fault> {
        let subjects: HashSet<_> = kept.iter().map(|it| &it.lane.subject).collect();
        watches.retain(|subject, _| subjects.contains(subject));
        for kept in kept {
            let watch = watches.entry(kept.lane.subject.clone()).or_default();
            self.keep_lane(kept, watch).await?;
        }
        Ok(())
    }

    async fn keep_lane(&self, kept: &Kept, watch: &mut Watch) -> Result<(), Fault> {
        let now = self.clock.now();
        let settled = self.read_on(kept, watch, now).await?;
        let lane = &kept.lane;
        let served = self.served(&kept.target, Service::Away);
        // What was delivered meanwhile has an owner, who keeps its time.
        let mut due = watch.due(now);
        due.retain(|sequence| kept.reach.has(*sequence));
        for (sequences, why) in [(settled, UnservedEnd::Settled), (due, UnservedEnd::Late)] {
            if sequences.is_empty() {
                continue;
            }
            let served = Arc::clone(&served);
            let ending = Ending { served, why };
            for sequence in self.end_all(&sequences, lane, &ending).await {
                watch.note(now.saturating_add(AGAIN), sequence);
            }
            watch.changed();
        }
        Ok(())
    }

    /// Notes when each new request is due; those that need no worker any more.
    async fn read_on(
        &self,
        kept: &Kept,
        watch: &mut Watch,
        now: WallTime,
    ) -> Result<Vec<u64>, Fault> {
        let mut settled = Vec::new();
        let Some(unread) = watch.unread(kept.mark(), now) else {
            return Ok(settled);
        };
        let mut from = kept.reach.first(unread);
        for _ in 0..kept.reach.read_max() / LOOKED_UP as u64 {
            let (noted, then) = self.note(kept, &mut from).await?;
            let keys: Vec<_> = noted.iter().map(|it| it.key.clone()).collect();
            let records = self.store.read(&keys).await?;
            for (noted, record) in noted.iter().zip(&records) {
                match record {
                    Some(record) if needs_no_worker(record) => settled.push(noted.sequence),
                    Some(_) | None => watch.note(noted.deadline.at(), noted.sequence),
                }
            }
            watch.read(from.saturating_sub(1));
            match then {
                Then::More => {}
                Then::Young => break,
                Then::End => {
                    watch.ended(kept.mark(), now);
                    break;
                }
            }
        }
        Ok(settled)
    }

    /// Reads some messages.
    async fn note(&self, kept: &Kept, from: &mut u64) -> Result<(Vec<Noted>, Then), Fault> {
        let (lane, target) = (&kept.lane, &kept.target);
        let (filter, mut noted) = (lane.filter(), Vec::new());
        while noted.len() < LOOKED_UP {
            let Some(message) = self.broker.next(*from, &filter).await? else {
                return Ok((noted, Then::End));
            };
            if !kept.reach.is_old(message.stored_at) {
                return Ok((noted, Then::Young));
            }
            let sequence = message.sequence;
            match message.into_delivery(lane.lane()) {
                Ok(delivery) => {
                    let (key, deadline) = self.pipeline.identify(&delivery, target);
                    noted.push(Noted {
                        sequence,
                        key,
                        deadline,
                    });
                }
                Err(unreadable) => self.bury_unreadable(unreadable, lane).await?,
            }
            *from = sequence.saturating_add(1);
        }
        Ok((noted, Then::More))
    }

    /// Ends requests by their sequences; those that are still there.
    async fn end_all(&self, sequences: &[u64], lane: &Waiting, ending: &Ending) -> Vec<u64> {
        let mut left = Vec::new();
        for some in sequences.chunks(ENDED_AT_ONCE) {
            let walks = some.iter().map(|it| self.end_stored(*it, lane, ending));
            for (sequence, ended) in some.iter().zip(join_all(walks).await) {
                match ended {
                    Ok(true) => continue,
                    Ok(false) => {}
                    Err(fault) => self.faulted(&fault),
                }
                left.push(*sequence);
            }
        }
        left
    }

    async fn end_stored(
        &self,
        sequence: u64,
        lane: &Waiting,
        ending: &Ending,
    ) -> Result<bool, Fault> {
        match self.stored(sequence, lane).await? {
            Some(message) => self.end(message, lane, ending).await,
            None => Ok(true),
        }
    }
}

/// It has its result, which may not be published yet, or it was cancelled.
const fn needs_no_worker(record: &Record) -> bool {
    match record.state {
        RecordState::Done { .. } | RecordState::Flagged => true,
        RecordState::Held {
            owner_alive,
            cancelled,
            ..
        } => cancelled && !owner_alive,
        RecordState::Waiting { cancelled, .. } => cancelled,
        RecordState::Intended | RecordState::Released => false,
    }
}
