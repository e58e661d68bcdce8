//! Which targets have a worker, and which had one ever.

use std::collections::{BTreeSet, HashMap, HashSet};

use futures_util::future::try_join_all;

use super::{
    Fault, Unserved,
    place::{Place, Waiting},
};
use crate::{
    broker::Lanes,
    contract::PurutoName,
    store::{SessionId, StoreFault, Supervision},
};

/// How many targets one look-up names.
const NAMED_MAX: usize = 256;

/// How many consumers are looked for at once.
const LOOKED_FOR_AT_ONCE: usize = 16;

/// What each live session serves; each is asked once, since it serves the same all its life.
#[derive(Debug, Default)]
pub(super) struct Serving(HashMap<SessionId, Vec<PurutoName>>);

impl Serving {
    /// The targets that a live session serves. `None` while `own` is none of those: then the store
    /// was emptied, and does not know yet who is there.
    pub(super) async fn now<S: Supervision>(
        &mut self,
        store: &S,
        own: &SessionId,
    ) -> Result<Option<HashSet<&PurutoName>>, StoreFault> {
        let mut live: HashSet<_> = store
            .roster()
            .await?
            .into_iter()
            .filter(|it| it.lives)
            .map(|it| it.session)
            .collect();
        if !live.contains(own) {
            return Ok(None);
        }
        self.0.retain(|session, _| live.remove(session));
        let new: Vec<_> = live.into_iter().collect();
        let serving = store.serving(&new).await?;
        self.0.extend(new.into_iter().zip(serving));
        Ok(Some(self.0.values().flatten().collect()))
    }
}

impl<B: Lanes, S: Supervision> Unserved<B, S> {
    /// Adds to `known` the targets of `waiting` that had a worker ever, whoever remembers it: the
    /// store, or, should that have been emptied, the consumer that the worker left behind.
    pub(super) async fn learn(
        &self,
        waiting: &[Waiting],
        known: &mut HashSet<PurutoName>,
    ) -> Result<(), Fault> {
        let targets = waiting.iter().filter_map(Waiting::target);
        let strange: BTreeSet<_> = targets.filter(|it| !known.contains(*it)).collect();
        let strange: Vec<_> = strange.into_iter().cloned().collect();
        for names in strange.chunks(NAMED_MAX) {
            let served = self.store.ever_served(names).await?;
            let served = names.iter().zip(served).filter(|(_, served)| *served);
            known.extend(served.map(|(name, _)| name.clone()));
        }
        let strange = waiting
            .iter()
            .filter(|it| it.target().is_some_and(|it| !known.contains(it)));
        let strange: Vec<_> = strange.collect();
        for lanes in strange.chunks(LOOKED_FOR_AT_ONCE) {
            let looking = lanes.iter().map(|it| self.left_behind(it));
            known.extend(try_join_all(looking).await?.into_iter().flatten());
        }
        Ok(())
    }

    /// The target of a lane that has a consumer.
    async fn left_behind(&self, waiting: &Waiting) -> Result<Option<PurutoName>, Fault> {
        let Place::Lane(target, lane) = &waiting.place else {
            return Ok(None);
        };
        let consumer = self.broker.lane_standing(target, *lane).await?;
        Ok(consumer.map(|_| target.clone()))
    }
}
