//! Messages under subjects that cannot be asked for as they are: found by reading everything that
//! lies beside them.

use std::collections::{BTreeSet, HashMap};

use super::{
    Fault, Unserved,
    end::READ_MAX,
    place::{Place, Waiting},
};
use crate::{
    broker::{Lanes, Stored, SubjectCount, WalkBroker},
    store::{Supervision, WalkStore},
};

impl<B, S> Unserved<B, S>
where
    B: WalkBroker + Stored + Lanes,
    S: Supervision + WalkStore,
{
    /// Ends the `lost`. In `read` stands how far each filter was read: whatever comes later has a
    /// higher sequence.
    pub(super) async fn find(
        &self,
        lost: &[Waiting],
        read: &mut HashMap<String, u64>,
    ) -> Result<(), Fault> {
        let filters: BTreeSet<_> = lost.iter().map(Waiting::filter).collect();
        read.retain(|filter, _| filters.contains(filter));
        for filter in filters {
            let read = read.entry(filter.clone()).or_default();
            self.find_under(&filter, read).await?;
        }
        Ok(())
    }

    async fn find_under(&self, filter: &str, read: &mut u64) -> Result<(), Fault> {
        for _ in 0..READ_MAX {
            let from = read.saturating_add(1);
            let Some(message) = self.broker.next(from, filter).await? else {
                break;
            };
            let sequence = message.sequence;
            let subject = message.subject.clone();
            let count = SubjectCount {
                subject,
                messages: 1,
            };
            let found = Waiting::of(count, &self.subjects);
            if !matches!(found.place, Place::Lane(..)) {
                self.refuse_one(message, &found).await?;
            }
            *read = sequence;
        }
        Ok(())
    }
}
