//! Messages of a stream, read and removed by management calls.
//!
//! Their answers are JSON with the headers in base64, so that the client library never parses what
//! it might not survive. A subject that is no UTF-8 comes with U+FFFD in it.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, json};

use super::{
    api::{self, ApiFault, code},
    link::Link,
    results::check_pattern,
};
use crate::{
    broker::{BrokerFault, StoredMessage, StreamName, SubjectCount, UnreadableHeaders},
    clock::WallTime,
};

const READ: &str = "read a stored message";
const REMOVE: &str = "remove a stored message";
const SUBJECTS: &str = "read the subjects of a stream";

/// Pages of subjects that are read at most; a server's page has 100,000.
const PAGES_MAX: usize = 100;

/// A message as the server tells it.
#[derive(Deserialize)]
struct Told {
    subject: Box<str>,
    seq: u64,
    #[serde(default)]
    hdrs: String,
    #[serde(default)]
    data: String,
    time: String,
}

impl Told {
    fn read(self) -> Option<StoredMessage> {
        let bytes = |text: &str| STANDARD.decode(text).ok().map(Bytes::from);
        Some(StoredMessage {
            sequence: self.seq,
            subject: self.subject,
            headers: UnreadableHeaders::check(bytes(&self.hdrs)?),
            body: bytes(&self.data)?,
            stored_at: WallTime::parse_rfc3339(&self.time)?,
        })
    }
}

/// The message with this sequence.
pub(super) async fn read(
    link: &Link,
    stream: &StreamName,
    sequence: u64,
) -> Result<Option<StoredMessage>, BrokerFault> {
    get(link, stream, &json!({ "seq": sequence })).await
}

/// The first message from `from` on under a subject with wildcards.
pub(super) async fn next(
    link: &Link,
    stream: &StreamName,
    from: u64,
    filter: &str,
) -> Result<Option<StoredMessage>, BrokerFault> {
    check_pattern(filter)?;
    // Sequences count from 1, and a server takes 0 for none.
    let query = json!({ "seq": from.max(1), "next_by_subj": filter });
    get(link, stream, &query).await
}

/// The last message under an exact subject; none in a stream that was deleted.
pub(super) async fn last(
    link: &Link,
    stream: &StreamName,
    subject: &str,
) -> Result<Option<StoredMessage>, BrokerFault> {
    match get(link, stream, &json!({ "last_by_subj": subject })).await {
        Err(BrokerFault::Refused {
            code: Some(code::STREAM_NOT_FOUND),
            ..
        }) => Ok(None),
        found => found,
    }
}

#[derive(Deserialize)]
struct Got {
    message: Told,
}

async fn get(
    link: &Link,
    stream: &StreamName,
    query: &Value,
) -> Result<Option<StoredMessage>, BrokerFault> {
    let call = format!("STREAM.MSG.GET.{}", stream.as_str());
    let got = match api::call_for::<Got>(link, &call, query).await {
        Ok(got) => got.message.read().ok_or(ApiFault::Nonsense),
        Err(fault) if fault.code() == Some(code::NO_MESSAGE_FOUND) => return Ok(None),
        Err(fault) => Err(fault),
    };
    got.map(Some).map_err(|fault| fault.into_fault(READ))
}

/// Removes a message; whether it was there.
pub(super) async fn remove(
    link: &Link,
    stream: &StreamName,
    sequence: u64,
) -> Result<bool, BrokerFault> {
    let call = format!("STREAM.MSG.DELETE.{}", stream.as_str());
    // Erasing would overwrite it on the disk as well.
    let which = json!({ "seq": sequence, "no_erase": true });
    match api::call(link, &call, &which).await {
        Ok(_) => Ok(true),
        // Servers say in different ways that there is no such message.
        Err(fault) if fault.code().is_some() => match read(link, stream, sequence).await? {
            None => Ok(false),
            Some(_) => Err(fault.into_fault(REMOVE)),
        },
        Err(fault) => Err(fault.into_fault(REMOVE)),
    }
}

#[derive(Deserialize)]
struct Info {
    #[serde(default)]
    total: usize,
    state: State,
}

#[derive(Deserialize)]
struct State {
    #[serde(default)]
    subjects: Counts,
}

/// A map in which a key may stand twice: subjects that are no UTF-8 are told apart no longer.
#[derive(Default)]
struct Counts(Vec<SubjectCount>);

impl<'de> Deserialize<'de> for Counts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(CountsVisitor)
    }
}

struct CountsVisitor;

impl<'de> Visitor<'de> for CountsVisitor {
    type Value = Counts;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("messages by subject")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Counts, A::Error> {
        let mut counts = Vec::new();
        while let Some((subject, messages)) = entries.next_entry()? {
            counts.push(SubjectCount { subject, messages });
        }
        Ok(Counts(counts))
    }
}

/// Every subject under `filter` that has messages.
pub(super) async fn subjects(
    link: &Link,
    stream: &StreamName,
    filter: &str,
) -> Result<Vec<SubjectCount>, BrokerFault> {
    let mut subjects = Vec::new();
    for _ in 0..PAGES_MAX {
        let page = page(link, stream, filter, subjects.len()).await?;
        let Counts(counts) = page.state.subjects;
        let is_last = counts.is_empty() || subjects.len() + counts.len() >= page.total;
        subjects.extend(counts);
        if is_last {
            break;
        }
    }
    Ok(subjects)
}

async fn page(
    link: &Link,
    stream: &StreamName,
    filter: &str,
    offset: usize,
) -> Result<Info, BrokerFault> {
    let call = format!("STREAM.INFO.{}", stream.as_str());
    let query = json!({ "subjects_filter": filter, "offset": offset });
    let page = api::call_for(link, &call, &query).await;
    page.map_err(|fault| fault.into_fault(SUBJECTS))
}
