//! What is asked for somebody else: executions, and what becomes of many at once.

use super::{Client, ClientFault, Exchange, Happenings, Hearing};
use crate::{
    clock::WallTime,
    contract::{CorrelationId, Event, RequestId, Subjects},
    store::{
        Record, Records, RequestKey,
        executions::{Begun, Execution, Executions, Listed, ListedAfter, Owner},
    },
};

impl<E: Exchange, R: Records> Client<E, R> {
    /// The time of day, as this caller goes by it.
    #[must_use]
    pub fn now(&self) -> WallTime {
        self.settings.clock.now()
    }

    /// The grammar of the fleet's subjects.
    #[must_use]
    pub fn subjects(&self) -> &Subjects {
        &self.settings.subjects
    }

    /// The records of these requests, in their order.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn records_at(
        &self,
        keys: &[RequestKey],
    ) -> Result<Vec<Option<Record>>, ClientFault> {
        Ok(self.records.read(keys).await?)
    }

    /// Hears an answer while it is being written; `next` is the index of the first message that
    /// has not been heard.
    ///
    /// # Errors
    /// There is no connection.
    pub async fn hearing(
        &self,
        chain: &CorrelationId,
        request: &RequestId,
        next: u64,
    ) -> Result<Hearing<E>, ClientFault> {
        let arrivals = self.exchange.listen(chain, request).await?;
        Ok(Hearing::from_index(arrivals, next))
    }
}

impl<E: Happenings, R: Records> Client<E, R> {
    /// Hears whatever is published under `filter`, a subject that may have wildcards.
    ///
    /// # Errors
    /// There is no connection.
    pub async fn hear(&self, filter: &str) -> Result<E::Arrivals, ClientFault> {
        Ok(self.exchange.hear(filter).await?)
    }

    /// What is kept of what was told of one request of a chain, oldest first.
    ///
    /// # Errors
    /// The broker did not answer in time.
    pub async fn events_in(
        &self,
        chain: &CorrelationId,
        request: &RequestId,
    ) -> Result<Vec<Event>, ClientFault> {
        self.events_under(&self.settings.subjects.events_in(chain, request))
            .await
    }
}

impl<E: Exchange, R: Executions> Client<E, R> {
    /// Writes an execution down, as [`Executions::begin`] does.
    ///
    /// # Errors
    /// The store did not answer; beginning again does no harm.
    pub async fn begin_execution(
        &self,
        owner: &Owner,
        execution: &Execution,
        listed: Listed,
    ) -> Result<Begun, ClientFault> {
        Ok(self.records.begin(owner, execution, listed).await?)
    }

    /// The execution of this owner with this id.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn find_execution(
        &self,
        owner: &Owner,
        id: &RequestId,
    ) -> Result<Option<Execution>, ClientFault> {
        Ok(self.records.find(owner, id).await?)
    }

    /// An owner's executions, as [`Executions::list`] tells them.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn list_executions(
        &self,
        owner: &Owner,
        after: Option<&ListedAfter>,
        most: usize,
    ) -> Result<Vec<Execution>, ClientFault> {
        Ok(self.records.list(owner, after, most).await?)
    }
}
