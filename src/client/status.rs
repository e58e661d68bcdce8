//! Where a request stands, by its record and by the stream of results.

use std::time::Duration;

use super::{Client, ClientFault, Exchange, reading::read};
use crate::{
    clock::WallTime,
    contract::{CorrelationId, Header, InvocationResult, PurutoName, RequestId},
    store::{Record, RecordState, Records, RequestKey, SessionId, kin::WaitsOn},
};

/// Where a request stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// Written down, by its parent or because it has a run; no worker has claimed it.
    Intended,
    /// Flagged for cancel before any worker claimed it.
    Flagged,
    /// A worker runs it, or died with it.
    Claimed {
        /// The worker's session.
        owner: SessionId,
        /// Whether that session lives; when it does not, another worker takes over.
        owner_alive: bool,
        /// Whether it is flagged for cancel.
        cancelled: bool,
    },
    /// Given back by a worker, not claimed since.
    Released,
    /// It waits without a worker.
    Waiting {
        /// For what.
        on: WaitsOn,
        /// Whether it is flagged for cancel.
        cancelled: bool,
    },
    /// It has its result; `None` when that is no longer kept.
    Done(Option<InvocationResult>),
}

/// What is known of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Who is asked, where that is known.
    pub target: Option<PurutoName>,
    /// The chain to which it belongs, where that is known.
    pub correlation: Option<CorrelationId>,
    /// How often it was executed, where that is known.
    pub attempts: Option<u32>,
    /// When it was first claimed, where that is known.
    pub first_claimed: Option<WallTime>,
    /// How long since the first claim; until the commit when it is done.
    pub age: Option<Duration>,
    /// Where it stands.
    pub standing: Standing,
}

impl Standing {
    /// Where a request stands whose record says this; the result of a tombstone stands elsewhere.
    ///
    /// # Errors
    /// What stands in the record is no result.
    pub(super) fn by(state: RecordState) -> Result<Self, ClientFault> {
        Ok(match state {
            RecordState::Intended => Self::Intended,
            RecordState::Flagged => Self::Flagged,
            RecordState::Waiting { on, cancelled } => Self::Waiting { on, cancelled },
            RecordState::Held {
                owner,
                owner_alive,
                cancelled,
            } => Self::Claimed {
                owner,
                owner_alive,
                cancelled,
            },
            RecordState::Released => Self::Released,
            RecordState::Done { result } => {
                let read = |bytes: bytes::Bytes| read("the record", &bytes);
                Self::Done(result.map(read).transpose()?)
            }
        })
    }
}

impl Status {
    pub(super) fn by(target: PurutoName, record: Record, standing: Standing) -> Self {
        Self {
            target: Some(target),
            correlation: record.correlation,
            attempts: Some(record.attempts),
            first_claimed: record.first_claimed,
            age: Some(record.age),
            standing,
        }
    }
}

impl<E: Exchange, R: Records> Client<E, R> {
    /// What is known of the requests with this id, one for each target that has one. None: no
    /// worker has claimed it yet, or it was never published, or all of it is forgotten.
    ///
    /// # Errors
    /// Broker or store did not answer, or what stands at a result's place is no result.
    pub async fn status(
        &self,
        request: &RequestId,
        target: Option<&PurutoName>,
    ) -> Result<Vec<Status>, ClientFault> {
        let mut found = Vec::new();
        for (key, record) in self.records_of(request, target).await? {
            found.push(self.status_by(key, record).await?);
        }
        if found.is_empty() {
            // The record may be gone while the result is still kept.
            found.extend(self.status_by_result(request, target).await?);
        }
        Ok(found)
    }

    /// The result of a request with this id, when there is one.
    ///
    /// # Errors
    /// Broker or store did not answer, what stands at the result's place is no result, or several
    /// targets have such a request.
    pub async fn result(
        &self,
        request: &RequestId,
        target: Option<&PurutoName>,
    ) -> Result<Option<InvocationResult>, ClientFault> {
        let mut found = self.status(request, target).await?;
        if found.len() > 1 {
            let targets = found.into_iter().filter_map(|it| it.target).collect();
            let request = request.clone();
            return Err(ClientFault::Ambiguous { request, targets });
        }
        Ok(found.pop().and_then(|it| match it.standing {
            Standing::Done(result) => result,
            Standing::Intended
            | Standing::Flagged
            | Standing::Claimed { .. }
            | Standing::Released
            | Standing::Waiting { .. } => None,
        }))
    }

    /// The records of the requests with this id.
    pub(super) async fn records_of(
        &self,
        request: &RequestId,
        target: Option<&PurutoName>,
    ) -> Result<Vec<(RequestKey, Record)>, ClientFault> {
        let targets = match target {
            Some(target) => vec![target.clone()],
            None => self.records.targets().await?,
        };
        let key = |target| RequestKey {
            target,
            request: request.clone(),
        };
        let keys: Vec<_> = targets.into_iter().map(key).collect();
        let records = self.records.read(&keys).await?;
        let both = keys.into_iter().zip(records);
        Ok(both
            .filter_map(|(key, record)| Some((key, record?)))
            .collect())
    }

    async fn status_by(&self, key: RequestKey, record: Record) -> Result<Status, ClientFault> {
        let standing = match record.state.clone() {
            RecordState::Done { result: None } => {
                let published = self.published(record.correlation.as_ref(), &key.request);
                Standing::Done(published.await?)
            }
            state => Standing::by(state)?,
        };
        Ok(Status::by(key.target, record, standing))
    }

    /// The result that stands in the stream for a record that is a tombstone.
    async fn published(
        &self,
        correlation: Option<&CorrelationId>,
        request: &RequestId,
    ) -> Result<Option<InvocationResult>, ClientFault> {
        let Some(correlation) = correlation else {
            return Ok(None);
        };
        let place = self.settings.subjects.result(correlation, request);
        match self.exchange.read_result(&place).await? {
            Some(stored) => read(&place, &stored.body).map(Some),
            None => Ok(None),
        }
    }

    /// What the stream of results alone tells of a request.
    async fn status_by_result(
        &self,
        request: &RequestId,
        target: Option<&PurutoName>,
    ) -> Result<Option<Status>, ClientFault> {
        let Some(message) = self.exchange.find_result(request).await? else {
            return Ok(None);
        };
        let header = |header| message.headers.get(header);
        let named = header(Header::Target).and_then(|it| it.parse().ok());
        if target.is_some() && named.as_ref() != target {
            return Ok(None);
        }
        let result = read(&message.subject, &message.body)?;
        Ok(Some(Status {
            target: named,
            correlation: Some(result.correlation_id.clone()),
            attempts: header(Header::Attempt).and_then(|it| it.parse().ok()),
            first_claimed: None,
            age: Some(result.duration),
            standing: Standing::Done(Some(result)),
        }))
    }
}
