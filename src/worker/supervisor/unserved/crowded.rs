//! Lanes whose workers are there and have more than they can do: what waits behind it has deadlines
//! too.

use std::time::Duration;

use futures_util::future::try_join_all;

use super::{
    Fault, Unserved,
    place::{Kept, Place, Reach, Waiting},
};
use crate::broker::Lanes;

/// How many lanes with messages are asked after in one look; the next one asks after the next.
const ASKED_AT_ONCE: usize = 32;

/// A request that waits no longer than that is on its way to a worker that is free.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

impl<B: Lanes, S> Unserved<B, S> {
    /// Those of the `served` lanes in which requests wait that nobody was given. Of many lanes some
    /// are asked after, beginning with the one whose `turn` it is.
    pub(super) async fn crowded(
        &self,
        served: &[Waiting],
        turn: &mut usize,
    ) -> Result<Vec<Kept>, Fault> {
        let begin = *turn % served.len().max(1);
        *turn = begin + ASKED_AT_ONCE;
        let asked = served.iter().cycle().skip(begin);
        let asked = asked.take(ASKED_AT_ONCE.min(served.len()));
        let kept = try_join_all(asked.map(|it| self.crowd(it))).await?;
        Ok(kept.into_iter().flatten().collect())
    }

    async fn crowd(&self, waiting: &Waiting) -> Result<Option<Kept>, Fault> {
        let Place::Lane(target, lane) = &waiting.place else {
            return Ok(None);
        };
        let standing = self.broker.lane_standing(target, *lane).await?;
        let Some(standing) = standing.filter(|it| it.pending > 0) else {
            return Ok(None);
        };
        let now = self.clock.now();
        Ok(Some(Kept {
            lane: waiting.clone(),
            target: target.clone(),
            reach: Reach::Queued {
                given: standing.delivered,
                waiting: standing.pending,
                stored_before: now.saturating_sub(ON_ITS_WAY),
            },
        }))
    }
}
