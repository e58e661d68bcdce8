//! Backlog: what waits for each target and what is at work, as the broker counts it.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::{
    api::{self, code},
    client::NatsClient,
    link::Link,
    reconcile::is_missing,
    results::direct_get,
    wire,
};
use crate::{
    broker::{
        BrokerFault,
        names::{ConsumerName, StreamName},
    },
    clock::WallTime,
    contract::{Lane, PurutoName, Subjects},
};

const OPERATION: &str = "read backlog";

/// How long reading all of it may take.
const ALL_WITHIN: Duration = Duration::from_secs(20);

/// What is in one lane of one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneBacklog {
    /// Whose it is.
    pub target: PurutoName,
    /// How urgent.
    pub lane: Lane,
    /// Requests that no worker was given yet.
    pub queued: u64,
    /// Requests that workers were given and have not settled.
    pub running: u64,
    /// Deliveries since the lane is there, repeated ones counted.
    pub delivered: u64,
    /// When the oldest request that is not settled was stored.
    pub oldest: Option<WallTime>,
}

#[derive(Deserialize)]
struct Page {
    total: usize,
    consumers: Vec<Consumer>,
}

#[derive(Deserialize)]
struct Consumer {
    config: Config,
    num_pending: u64,
    num_ack_pending: u64,
    delivered: Delivered,
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    filter_subject: String,
}

#[derive(Deserialize)]
struct Delivered {
    consumer_seq: u64,
    stream_seq: u64,
}

impl NatsClient {
    /// What is in every lane that a worker ever served; nothing where no worker ever ran.
    ///
    /// # Errors
    /// The broker did not answer in time.
    pub async fn backlog(&self) -> Result<Vec<LaneBacklog>, BrokerFault> {
        let until = Instant::now() + ALL_WITHIN;
        let reading = read(self.link(), self.requests(), self.subjects());
        timeout_at(until, reading)
            .await
            .unwrap_or(Err(BrokerFault::TimedOut {
                operation: OPERATION,
                after: ALL_WITHIN,
            }))
    }
}

impl NatsClient {
    /// The sequence up to which a lane has delivered; nothing where no worker ever served it.
    ///
    /// # Errors
    /// The broker did not answer in time.
    pub async fn delivered_up_to(
        &self,
        target: &PurutoName,
        lane: Lane,
    ) -> Result<Option<u64>, BrokerFault> {
        let consumer = ConsumerName::of(target, lane);
        let call = format!(
            "CONSUMER.INFO.{}.{}",
            self.requests().as_str(),
            consumer.as_str()
        );
        match api::call_for::<Consumer>(self.link(), &call, &Value::Null).await {
            Ok(consumer) => Ok(Some(consumer.delivered.stream_seq)),
            Err(fault) if is_missing(&fault) => Ok(None),
            Err(fault) => Err(fault.into_fault(OPERATION)),
        }
    }
}

async fn read(
    link: &Link,
    stream: &StreamName,
    subjects: &Subjects,
) -> Result<Vec<LaneBacklog>, BrokerFault> {
    let mut lanes = Vec::new();
    let mut seen = 0;
    while let Some(page) = page(link, stream, seen).await? {
        seen += page.consumers.len();
        let is_last = page.consumers.is_empty() || seen >= page.total;
        for consumer in page.consumers {
            lanes.extend(lane(link, stream, subjects, &consumer).await?);
        }
        if is_last {
            break;
        }
    }
    Ok(lanes)
}

async fn page(
    link: &Link,
    stream: &StreamName,
    offset: usize,
) -> Result<Option<Page>, BrokerFault> {
    let call = format!("CONSUMER.LIST.{}", stream.as_str());
    match api::call(link, &call, &json!({ "offset": offset })).await {
        Ok(answer) => {
            let page = serde_json::from_value(Value::Object(answer));
            page.map(Some).map_err(|error| BrokerFault::Refused {
                operation: OPERATION,
                reason: format!("the answer is not understood: {error}"),
                code: None,
            })
        }
        Err(fault) if fault.code() == Some(code::STREAM_NOT_FOUND) => Ok(None),
        Err(fault) => Err(fault.into_fault(OPERATION)),
    }
}

/// What a consumer says of its lane; nothing when it is none of the fleet's.
async fn lane(
    link: &Link,
    stream: &StreamName,
    subjects: &Subjects,
    consumer: &Consumer,
) -> Result<Option<LaneBacklog>, BrokerFault> {
    let subject = &consumer.config.filter_subject;
    let Some((target, lane)) = subjects.parse_invoke(subject) else {
        return Ok(None);
    };
    let (queued, running) = (consumer.num_pending, consumer.num_ack_pending);
    let oldest = if queued + running == 0 {
        None
    } else {
        oldest(link, stream, subject).await?
    };
    Ok(Some(LaneBacklog {
        target,
        lane,
        queued,
        running,
        delivered: consumer.delivered.consumer_seq,
        oldest,
    }))
}

/// When the first message that is left under a subject was stored.
async fn oldest(
    link: &Link,
    stream: &StreamName,
    subject: &str,
) -> Result<Option<WallTime>, BrokerFault> {
    let call = format!("$JS.API.DIRECT.GET.{}", stream.as_str());
    let first = json!({ "seq": 1, "next_by_subj": subject });
    let found = direct_get(link, &call, &first).await?;
    let stored = found
        .as_ref()
        .and_then(|it| wire::header(it, "Nats-Time-Stamp"));
    Ok(stored.and_then(WallTime::parse_rfc3339))
}
