//! Cancels requests with all that they asked: flags their records, then tells their workers.

use std::collections::HashSet;

use super::{Client, ClientFault, Exchange, Happenings, Queue, Queued, Sought};
use crate::{
    contract::{CorrelationId, PurutoName, RequestId},
    store::{CancelAnswer, Records, RequestKey, Waits},
};

/// Requests that one cancel reaches at most.
const REACHED_MAX: usize = 10_000;

/// What a cancel came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancelled {
    /// The request.
    pub key: RequestKey,
    /// What its record said.
    pub answer: CancelAnswer,
}

impl<E: Exchange, R: Records> Client<E, R> {
    /// Asks that a request be cancelled, and whatever it waits for; it comes first. A worker that
    /// runs one of them learns of it from the record at its next renewal, and at once from the
    /// announcement.
    ///
    /// # Errors
    /// Store or broker did not answer, or it is not known which target is meant. Some may be
    /// cancelled all the same; cancelling again does no harm.
    pub async fn cancel(
        &self,
        request: &RequestId,
        target: Option<&PurutoName>,
    ) -> Result<Vec<Cancelled>, ClientFault> {
        let key = self.key_of(request, target).await?;
        self.cascade(vec![key]).await
    }

    /// Cancels these, and whatever those wait for that nobody works on: a worker does the same for
    /// what it owns.
    async fn cascade(&self, mut owed: Vec<RequestKey>) -> Result<Vec<Cancelled>, ClientFault> {
        let (mut seen, mut cancelled) = (HashSet::new(), Vec::new());
        owed.reverse();
        while let Some(key) = owed.pop() {
            if !seen.insert(key.clone()) || seen.len() > REACHED_MAX {
                continue;
            }
            let answer = self.records.cancel(&key).await?;
            match &answer {
                CancelAnswer::Owned(_) => self.exchange.announce_cancel(&key).await?,
                CancelAnswer::Waiting(children) => {
                    owed.extend(children.iter().rev().map(|child| child.key.clone()));
                }
                CancelAnswer::Flagged | CancelAnswer::AlreadyDone => {}
            }
            cancelled.push(Cancelled { key, answer });
        }
        Ok(cancelled)
    }

    /// The request of this id, by the one record that there is of it.
    pub(super) async fn key_of(
        &self,
        request: &RequestId,
        target: Option<&PurutoName>,
    ) -> Result<RequestKey, ClientFault> {
        let target = match target {
            Some(target) => target.clone(),
            None => self.target_of(request).await?,
        };
        let request = request.clone();
        Ok(RequestKey { target, request })
    }

    async fn target_of(&self, request: &RequestId) -> Result<PurutoName, ClientFault> {
        let found = self.records_of(request, None).await?;
        let mut targets: Vec<_> = found.into_iter().map(|(key, _)| key.target).collect();
        let request = request.clone();
        match (targets.pop(), targets.is_empty()) {
            (Some(only), true) => Ok(only),
            (Some(last), false) => {
                targets.push(last);
                Err(ClientFault::Ambiguous { request, targets })
            }
            (None, _) => Err(ClientFault::TargetUnknown { request }),
        }
    }
}

impl<E: Happenings + Queue, R: Records + Waits> Client<E, R> {
    /// Cancels every request of a chain that is not done, also those that no worker has seen.
    ///
    /// # Errors
    /// As [`Client::cancel`], or nothing is known of the chain.
    pub async fn cancel_chain(&self, chain: &CorrelationId) -> Result<Vec<Cancelled>, ClientFault> {
        let queued = self.queued(Sought::Chain(chain), None).await?;
        let flat = self.flat(chain).await?;
        if queued.is_empty() && flat.is_empty() {
            let chain = chain.clone();
            return Err(ClientFault::ChainUnknown { chain });
        }
        let running = flat.into_iter().filter(|(_, found)| !found.is_done());
        let queued = queued.iter().map(Queued::key);
        let owed = running.map(|(key, _)| key).chain(queued);
        self.cascade(owed.collect()).await
    }
}
