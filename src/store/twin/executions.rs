//! Executions, in the reference model.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{
        StoreFault,
        executions::{
            Begun, EXECUTION_RETENTION, Execution, Executions, LISTED_MAX, Listed, ListedAfter,
            Owner,
        },
    },
    StoreTwin,
    data::Data,
    fault::Op,
};
use crate::{
    clock::{Clock, WallTime},
    contract::RequestId,
};

/// The executions of every owner.
#[derive(Debug, Default)]
pub(super) struct Started {
    all: BTreeMap<(Owner, RequestId), Execution>,
    listed: BTreeMap<Owner, BTreeSet<(WallTime, RequestId)>>,
}

impl Started {
    fn begin(
        &mut self,
        owner: &Owner,
        execution: &Execution,
        listed: Listed,
        now: WallTime,
    ) -> Begun {
        let id = &execution.key.request;
        if let Some(known) = self.find(owner, id, now) {
            let is_same = known.fingerprint == execution.fingerprint;
            return if is_same {
                Begun::Same(known)
            } else {
                Begun::Conflict
            };
        }
        self.all
            .insert((owner.clone(), id.clone()), execution.clone());
        if listed == Listed::Yes {
            let ids = self.listed.entry(owner.clone()).or_default();
            ids.insert((execution.created, id.clone()));
            while ids.len() > LISTED_MAX {
                ids.pop_first();
            }
        }
        Begun::New
    }

    fn find(&self, owner: &Owner, id: &RequestId, now: WallTime) -> Option<Execution> {
        let execution = self.all.get(&(owner.clone(), id.clone()))?;
        let kept_until = execution.deadline.at().saturating_add(EXECUTION_RETENTION);
        (now < kept_until).then(|| execution.clone())
    }

    fn list(
        &self,
        owner: &Owner,
        after: Option<&ListedAfter>,
        most: usize,
        now: WallTime,
    ) -> Vec<Execution> {
        let ids = self.listed.get(owner).into_iter().flatten().rev();
        let behind = |(created, id): &&(WallTime, RequestId)| {
            after.is_none_or(|after| (*created, id) < (after.created, &after.id))
        };
        let kept = ids
            .filter(behind)
            .filter_map(|(_, id)| self.find(owner, id, now));
        kept.take(most).collect()
    }
}

impl Executions for StoreTwin {
    async fn begin(
        &self,
        owner: &Owner,
        execution: &Execution,
        listed: Listed,
    ) -> Result<Begun, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| {
            data.started.begin(owner, execution, listed, clock.now())
        };
        self.run(Op::ExecutionBegin, effect).await
    }

    async fn find(&self, owner: &Owner, id: &RequestId) -> Result<Option<Execution>, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.started.find(owner, id, clock.now());
        self.run(Op::ExecutionFind, effect).await
    }

    async fn list(
        &self,
        owner: &Owner,
        after: Option<&ListedAfter>,
        most: usize,
    ) -> Result<Vec<Execution>, StoreFault> {
        let effect =
            |data: &mut Data, clock: &Clock| data.started.list(owner, after, most, clock.now());
        self.run(Op::ExecutionList, effect).await
    }
}
