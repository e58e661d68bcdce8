//! Keeps the deadlines of requests whose workers are away.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures_util::future::join_all;

use super::{
    Fault, Unserved,
    end::{Ending, READ_MAX},
    place::Waiting,
    watch::Watch,
};
use crate::{
    broker::{Broker, DeadLetters, Lanes, Stored},
    clock::WallTime,
    contract::{Deadline, PurutoName},
    pipeline::Service,
    store::{Claims, Record, RecordState, Records, RequestKey, Supervision},
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

impl<B, S> Unserved<B, S>
where
    B: Broker + Stored + DeadLetters + Lanes,
    S: Supervision + Claims + Records,
{
    /// Ends the requests of the lanes `away` that are due, or that need no worker any more.
    pub(super) async fn keep_time(
        &self,
        away: &[(Waiting, PurutoName)],
        watches: &mut HashMap<Box<str>, Watch>,
    ) -> Result<(), Fault> {
        let subjects: HashSet<_> = away.iter().map(|(lane, _)| &lane.subject).collect();
        watches.retain(|subject, _| subjects.contains(subject));
        for (lane, target) in away {
            let watch = watches.entry(lane.subject.clone()).or_default();
            self.keep_lane(lane, target, watch).await?;
        }
        Ok(())
    }

    async fn keep_lane(
        &self,
        lane: &Waiting,
        target: &PurutoName,
        watch: &mut Watch,
    ) -> Result<(), Fault> {
        let now = self.clock.now();
        let settled = self.read_on(lane, target, watch, now).await?;
        let served = self.served(target, Service::Away);
        let due = watch.due(now);
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
        lane: &Waiting,
        target: &PurutoName,
        watch: &mut Watch,
        now: WallTime,
    ) -> Result<Vec<u64>, Fault> {
        let mut settled = Vec::new();
        let Some(mut from) = watch.unread(lane.messages, now) else {
            return Ok(settled);
        };
        for _ in 0..READ_MAX / LOOKED_UP as u64 {
            let (noted, ended) = self.note(lane, target, &mut from).await?;
            let keys: Vec<_> = noted.iter().map(|it| it.key.clone()).collect();
            let records = self.store.read(&keys).await?;
            for (noted, record) in noted.iter().zip(&records) {
                match record {
                    Some(record) if needs_no_worker(record) => settled.push(noted.sequence),
                    Some(_) | None => watch.note(noted.deadline.at(), noted.sequence),
                }
            }
            watch.read(from.saturating_sub(1));
            if ended {
                watch.ended(lane.messages, now);
                break;
            }
        }
        Ok(settled)
    }

    /// Reads some messages; whether these were the last.
    async fn note(
        &self,
        lane: &Waiting,
        target: &PurutoName,
        from: &mut u64,
    ) -> Result<(Vec<Noted>, bool), Fault> {
        let (filter, mut noted) = (lane.filter(), Vec::new());
        while noted.len() < LOOKED_UP {
            let Some(message) = self.broker.next(*from, &filter).await? else {
                return Ok((noted, true));
            };
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
        Ok((noted, false))
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
        RecordState::Released => false,
    }
}
