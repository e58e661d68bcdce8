//! Asks without waiting, in two steps: what is written down between them is known before anybody
//! works on the request.

use std::time::Duration;

use super::{
    Client, ClientFault, Exchange, Invocation, Prepared, Status,
    reading::{Asked, Seen},
    status::Standing,
};
use crate::{
    broker::{ResultMessage, StoredResult},
    contract::{CorrelationId, Fingerprint, InvocationResult, PROMPT_BYTES_MAX},
    store::{RecordState, Records, RequestKey},
};

/// What became of submitting a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Submitted {
    /// It is stored at the broker, by this call or by an earlier one.
    Stored,
    /// It was answered without being published: denied, or its target is not in the fleet.
    Refused(InvocationResult),
}

impl<E: Exchange, R: Records> Client<E, R> {
    /// The request that an invocation becomes, its ids made where the caller gave none. Nothing is
    /// published.
    ///
    /// # Errors
    /// The prompt is too long.
    pub fn prepare(&self, invocation: Invocation) -> Result<Prepared, ClientFault> {
        let bytes = invocation.prompt.len();
        if bytes > PROMPT_BYTES_MAX {
            return Err(ClientFault::PromptTooLong { bytes });
        }
        Ok(invocation.prepare(&self.settings.clock, &self.settings.chance))
    }

    /// How long a prepared request may take from now on.
    #[must_use]
    pub fn allowance(&self, prepared: &Prepared) -> Duration {
        self.time_for(prepared)
    }

    /// Why a prepared request would be refused without being published, if it would.
    ///
    /// # Errors
    /// The broker did not answer in time.
    pub async fn refused(
        &self,
        prepared: &Prepared,
    ) -> Result<Option<InvocationResult>, ClientFault> {
        let error = self.refusal(prepared.request()).await?;
        Ok(error.map(|error| self.asked(prepared).answered(error)))
    }

    /// Publishes a prepared request, unless it would be refused, and waits until the broker has
    /// stored it. Submitting it again does no harm.
    ///
    /// # Errors
    /// The message is too large, or the broker did not answer; after a time-out it may be stored
    /// all the same.
    pub async fn submit(&self, prepared: &Prepared) -> Result<Submitted, ClientFault> {
        if let Some(result) = self.refused(prepared).await? {
            return Ok(Submitted::Refused(result));
        }
        self.publish(prepared).await?;
        Ok(Submitted::Stored)
    }

    fn asked(&self, prepared: &Prepared) -> Asked {
        let request = prepared.request();
        Asked::new(
            request.request_id.clone(),
            request.correlation_id.clone(),
            prepared.fingerprint(),
            &self.settings.subjects,
        )
    }

    /// Where a request stands of which everything is known that tells it from others. None: no
    /// worker has claimed it yet, or it was never published, or all of it is forgotten.
    ///
    /// # Errors
    /// Broker or store did not answer, or what stands at the result's place is no result.
    pub async fn standing(
        &self,
        key: &RequestKey,
        chain: &CorrelationId,
        fingerprint: Fingerprint,
    ) -> Result<Option<Status>, ClientFault> {
        let subjects = &self.settings.subjects;
        let asked = Asked::new(key.request.clone(), chain.clone(), fingerprint, subjects);
        let records = self.records.read(std::slice::from_ref(key)).await?;
        let Some(record) = records.into_iter().next().flatten() else {
            let result = self.answer(&asked).await?;
            return Ok(result.map(|result| Status {
                target: Some(key.target.clone()),
                correlation: Some(chain.clone()),
                attempts: None,
                first_claimed: None,
                age: Some(result.duration),
                standing: Standing::Done(Some(result)),
            }));
        };
        let standing = match record.state.clone() {
            // The record does not say under which chain its result was published.
            RecordState::Done { result: None } => Standing::Done(self.answer(&asked).await?),
            state => Standing::by(state)?,
        };
        Ok(Some(Status::by(key.target.clone(), record, standing)))
    }

    /// The result that stands in the stream for exactly this request.
    async fn answer(&self, asked: &Asked) -> Result<Option<InvocationResult>, ClientFault> {
        match self.seen_under(asked, &asked.place).await? {
            Seen::Answer(result) => Ok(Some(result)),
            Seen::Other => Ok(None),
            Seen::Foreign => match self.seen_under(asked, &asked.aside).await? {
                Seen::Answer(result) => Ok(Some(result)),
                Seen::Foreign | Seen::Other => Ok(None),
            },
        }
    }

    async fn seen_under(&self, asked: &Asked, subject: &str) -> Result<Seen, ClientFault> {
        let Some(StoredResult { headers, body }) = self.exchange.read_result(subject).await? else {
            return Ok(Seen::Other);
        };
        asked.see(&ResultMessage {
            subject: subject.to_owned(),
            headers,
            body,
        })
    }
}
