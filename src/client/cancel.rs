//! Cancels a request: flags its record, then tells its worker.

use super::{Client, ClientFault, Exchange};
use crate::{
    contract::{PurutoName, RequestId},
    store::{CancelAnswer, Records, RequestKey},
};

/// What a cancel came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancelled {
    /// The request.
    pub key: RequestKey,
    /// What its record said.
    pub answer: CancelAnswer,
}

impl<E: Exchange, R: Records> Client<E, R> {
    /// Asks that a request be cancelled. A worker that runs it learns of it from the record at its
    /// next renewal, and at once from the announcement.
    ///
    /// # Errors
    /// Store or broker did not answer, or it is not known which target is meant.
    pub async fn cancel(
        &self,
        request: &RequestId,
        target: Option<&PurutoName>,
    ) -> Result<Cancelled, ClientFault> {
        let target = match target {
            Some(target) => target.clone(),
            None => self.target_of(request).await?,
        };
        let key = RequestKey {
            target,
            request: request.clone(),
        };
        let answer = self.records.cancel(&key).await?;
        if let CancelAnswer::Owned(_) = answer {
            self.exchange.announce_cancel(&key).await?;
        }
        Ok(Cancelled { key, answer })
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
