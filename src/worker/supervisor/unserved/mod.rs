//! Unserved: requests that no worker pulls, ended all the same.
//!
//! A target that never had a worker is answered for at once. One whose workers are away, or have
//! more than they can do, keeps its requests for them until their deadlines, or until something
//! else ends them: a cancel, a result that was committed before. Everything goes the one walk, so
//! that a worker that pulls meanwhile does no harm. Never: a look at the requests that a live
//! worker was given, or memory that the next leader would miss.

mod away;
mod crowded;
mod end;
mod lost;
mod place;
mod serving;
mod waits;
mod watch;

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use tokio::{
    sync::watch as channel,
    time::{MissedTickBehavior, interval},
};

use self::{
    place::{Kept, Place, Reach, Waiting},
    serving::Serving,
    watch::Watch,
};
use super::lease::Lead;
use crate::{
    broker::{BrokerFault, Lanes, Stored, WalkBroker},
    clock::Clock,
    contract::{PurutoName, Subjects},
    pipeline::Pipeline,
    store::{SessionId, StoreFault, Supervision, WalkStore},
    telemetry::metrics::Metrics,
};

/// Between two looks at what lies in the stream.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What it takes to end the requests that nobody pulls.
#[derive(Debug)]
pub struct Unserved<B, S> {
    /// The walk.
    pub pipeline: Pipeline<B, S>,
    /// Knows what lies in the stream.
    pub broker: B,
    /// Knows who serves what.
    pub store: S,
    /// Targets that stand in a folder here, whether a worker ever served them or not.
    pub folders: Vec<PurutoName>,
    /// The grammar of subjects.
    pub subjects: Subjects,
    /// The time of day.
    pub clock: Clock,
    /// What is counted.
    pub metrics: Metrics,
}

/// What one leader remembers from look to look.
#[derive(Debug)]
struct Memory {
    serving: Serving,
    /// Targets that a worker serves or served: that stays so.
    known: HashSet<PurutoName>,
    /// What is watched of each lane whose workers are away, by its subject.
    watches: HashMap<Box<str>, Watch>,
    /// The same of lanes whose workers have more than they can do.
    crowded: HashMap<Box<str>, Watch>,
    /// Which of the served lanes is looked at next.
    turn: usize,
    /// How far was read what cannot be asked for by its own subject, by filter.
    read: HashMap<String, u64>,
}

/// What has no live worker, by what is to be done with it.
#[derive(Debug, Default)]
struct Sorted {
    /// Workers of the target have been there, and may come back.
    away: Vec<Kept>,
    /// Nobody ever pulled there.
    nobodys: Vec<Waiting>,
    /// Nor there, and it has to be found first.
    lost: Vec<Waiting>,
}

impl Sorted {
    fn of(waiting: Vec<Waiting>, known: &HashSet<PurutoName>) -> Self {
        let mut sorted = Self::default();
        for waiting in waiting {
            match &waiting.place {
                Place::Lane(target, _) if known.contains(target) => {
                    sorted.away.push(Kept {
                        target: target.clone(),
                        lane: waiting,
                        reach: Reach::All,
                    });
                }
                Place::Lane(..) | Place::Beside(_) if waiting.has_filter_of_its_own() => {
                    sorted.nobodys.push(waiting);
                }
                Place::Lane(..) | Place::Beside(_) | Place::Nowhere => sorted.lost.push(waiting),
            }
        }
        sorted
    }
}

/// Why a look was not finished.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    Broker(#[from] BrokerFault),
    #[error(transparent)]
    Store(#[from] StoreFault),
}

impl<B, S> Unserved<B, S>
where
    B: WalkBroker + Stored + Lanes,
    S: Supervision + WalkStore,
{
    /// Ends what nobody pulls for as long as this process leads. Never ends by itself.
    pub(super) async fn attend(&self, led: channel::Receiver<Option<Lead>>) {
        let mut ticks = interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut memory = self.afresh();
        loop {
            ticks.tick().await;
            let Some(lead) = led.borrow().clone().filter(Lead::holds) else {
                memory = self.afresh();
                continue;
            };
            if let Err(fault) = self.look(&lead.session, &mut memory).await {
                self.faulted(&fault);
            }
            let watches = memory.watches.values().chain(memory.crowded.values());
            let watched = watches.map(Watch::len).sum();
            self.metrics.set_unserved_watched(watched);
        }
    }

    fn afresh(&self) -> Memory {
        self.metrics.set_unserved_watched(0);
        Memory {
            serving: Serving::default(),
            known: self.folders.iter().cloned().collect(),
            watches: HashMap::new(),
            crowded: HashMap::new(),
            turn: 0,
            read: HashMap::new(),
        }
    }

    /// Looks once at every subject that has messages.
    async fn look(&self, own: &SessionId, memory: &mut Memory) -> Result<(), Fault> {
        let subjects = self.broker.subjects().await?;
        let waiting = subjects
            .into_iter()
            .map(|it| Waiting::of(it, &self.subjects));
        let Some(served) = memory.serving.now(&self.store, own).await? else {
            return Ok(());
        };
        let is_served = |it: &Waiting| match &it.place {
            Place::Lane(target, _) => served.contains(target),
            Place::Beside(_) | Place::Nowhere => false,
        };
        let (busy, waiting): (Vec<_>, Vec<_>) = waiting.partition(is_served);
        self.learn(&waiting, &mut memory.known).await?;
        let Sorted {
            away,
            nobodys,
            lost,
        } = Sorted::of(waiting, &memory.known);
        let (refused, found, kept) = tokio::join!(
            self.refuse(&nobodys),
            self.find(&lost, &mut memory.read),
            self.keep_time(&away, &mut memory.watches),
        );
        let crowded = self.crowded(&busy, &mut memory.turn).await?;
        let queued = self.keep_time(&crowded, &mut memory.crowded).await;
        refused.and(found).and(kept).and(queued)
    }

    fn faulted(&self, fault: &Fault) {
        match fault {
            Fault::Broker(fault) => self.metrics.broker_faulted(fault),
            Fault::Store(fault) => self.metrics.store_faulted(fault),
        }
        tracing::warn!(%fault, "requests without a worker cannot be looked at");
    }
}
