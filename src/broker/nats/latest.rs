//! What was kept last: read in batches, for whoever wants to know what happened before it came.

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::{
    api::{self, CALL_BOUND, code},
    client::NatsClient,
    link::Link,
    results, stored,
    subscription::Subscription,
    wire,
};
use crate::{
    broker::{BrokerFault, StoredMessage, StreamName},
    clock::WallTime,
};

/// Messages that one batch has at most ...
const BATCH: usize = 500;

/// ... and bytes.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

const OPERATION: &str = "read a batch";
const EXTENT: &str = "look at the stream of requests";

/// A stream of the fleet whose messages any client library can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {
    /// The results.
    Results,
    /// What was told of requests while they were worked on.
    Events,
}

/// Which messages a stream holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Extent {
    /// How many.
    pub messages: u64,
    /// The sequence of the first.
    #[serde(rename = "first_seq")]
    pub first: u64,
    /// The sequence of the last that there was.
    #[serde(rename = "last_seq")]
    pub last: u64,
}

#[derive(Deserialize)]
struct Info {
    state: Extent,
}

impl NatsClient {
    /// The sequence of the last message of a journal; nothing where there is none.
    ///
    /// # Errors
    /// The broker did not answer in time.
    pub async fn last_kept(&self, journal: Journal) -> Result<Option<u64>, BrokerFault> {
        let (stream, filter) = self.journal(journal);
        let last = stored::last(self.link(), &stream, &filter).await?;
        Ok(last.map(|message| message.sequence))
    }

    /// Some messages of a journal from sequence `from` on, oldest first; none when there is none.
    ///
    /// # Errors
    /// The broker did not answer in time, or there is no such stream.
    pub async fn kept_from(
        &self,
        journal: Journal,
        from: u64,
    ) -> Result<Vec<StoredMessage>, BrokerFault> {
        let (stream, filter) = self.journal(journal);
        let query = json!({
            "seq": from.max(1),
            "next_by_subj": filter,
            "batch": BATCH,
            "max_bytes": BATCH_BYTES,
        });
        let call = format!("$JS.API.DIRECT.GET.{}", stream.as_str());
        batch(self.link(), &call, &query).await
    }

    /// Which messages lie in the stream of requests; nothing where there is none.
    ///
    /// # Errors
    /// The broker did not answer in time.
    pub async fn queued_extent(&self) -> Result<Option<Extent>, BrokerFault> {
        let call = format!("STREAM.INFO.{}", self.requests().as_str());
        match api::call_for::<Info>(self.link(), &call, &Value::Null).await {
            Ok(info) => Ok(Some(info.state).filter(|it| it.messages > 0)),
            Err(fault) if fault.code() == Some(code::STREAM_NOT_FOUND) => Ok(None),
            Err(fault) => Err(fault.into_fault(EXTENT)),
        }
    }

    fn journal(&self, journal: Journal) -> (StreamName, String) {
        let subjects = self.subjects();
        match journal {
            Journal::Results => (StreamName::results(subjects), subjects.results_all()),
            Journal::Events => (StreamName::events(subjects), subjects.events_all()),
        }
    }
}

async fn batch(link: &Link, call: &str, query: &Value) -> Result<Vec<StoredMessage>, BrokerFault> {
    let inbox = link.new_inbox();
    let mut answers = Subscription::open(link, inbox.clone()).await?;
    let until = Instant::now() + CALL_BOUND;
    let asked = link.publish_with(call, &inbox, query.to_string().into(), CALL_BOUND);
    asked.await.map_err(|it| it.into_fault(OPERATION))?;
    let mut messages = Vec::new();
    loop {
        let answer = timeout_at(until, answers.next()).await;
        let message = match answer {
            Ok(Some(message)) => message,
            // The connection broke, or it takes too long: what has come is asked for no more.
            Ok(None) | Err(_) if !messages.is_empty() => return Ok(messages),
            Ok(None) | Err(_) => {
                return Err(BrokerFault::TimedOut {
                    operation: OPERATION,
                    after: CALL_BOUND,
                });
            }
        };
        match message.status {
            None => {}
            Some(status) if matches!(status.as_u16(), 204 | 404) => return Ok(messages),
            Some(status) => {
                return Err(BrokerFault::Refused {
                    operation: OPERATION,
                    reason: message.description.unwrap_or_default(),
                    code: Some(u64::from(status.as_u16())),
                });
            }
        }
        // A server that knows no batches answers with one message and not how many are left.
        let is_batch = wire::header(&message, "Nats-Num-Pending").is_some();
        messages.extend(read(&message));
        if !is_batch {
            return Ok(messages);
        }
    }
}

fn read(message: &async_nats::Message) -> Option<StoredMessage> {
    let header = |name| wire::header(message, name);
    let stored = wire::stored_result(message);
    Some(StoredMessage {
        sequence: header("Nats-Sequence")?.parse().ok()?,
        subject: results::subject_of(message).into(),
        stored_at: WallTime::parse_rfc3339(header("Nats-Time-Stamp")?)?,
        headers: Ok(stored.headers),
        body: stored.body,
    })
}
