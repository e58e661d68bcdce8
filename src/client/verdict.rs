//! Decides about a request that waits to be approved.

use super::{Client, ClientFault, Exchange, Queue, Queued, Sought};
use crate::{
    contract::{PurutoName, RequestId},
    store::{
        Records, RequestKey, Waits,
        kin::{Verdict, VerdictAnswer},
    },
};

impl<E: Exchange + Queue, R: Records + Waits> Client<E, R> {
    /// The one request with this id that lies in the stream, as it would run.
    ///
    /// # Errors
    /// The broker did not answer, no such request lies there, or several targets have one.
    pub async fn to_decide(
        &self,
        request: &RequestId,
        target: Option<&PurutoName>,
    ) -> Result<Queued, ClientFault> {
        let found = self.queued(Sought::Request(request), target).await?;
        let mut targets: Vec<_> = found.iter().map(|it| it.target.clone()).collect();
        targets.dedup();
        let request = request.clone();
        // Should the id have been used twice, the first is the one that runs.
        match (found.into_iter().next(), targets.len()) {
            (Some(queued), 1) => Ok(queued),
            (Some(_), _) => Err(ClientFault::Ambiguous { request, targets }),
            (None, _) => Err(ClientFault::NotQueued { request }),
        }
    }

    /// Decides about a request. The verdict counts for what was decided about, and for nothing else
    /// under the same id.
    ///
    /// # Errors
    /// The store did not answer; deciding the same again does no harm.
    pub async fn decide(
        &self,
        key: &RequestKey,
        verdict: &Verdict,
    ) -> Result<VerdictAnswer, ClientFault> {
        Ok(self.records.decide(key, verdict).await?)
    }
}
