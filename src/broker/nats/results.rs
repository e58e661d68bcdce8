//! Results: published once, read by subject.

use async_nats::{HeaderMap, HeaderName, HeaderValue, Message, StatusCode};
use serde_json::{Value, json};

use super::{
    super::{BrokerFault, Headers, Publishing, ResultMessage, StoredResult, names::StreamName},
    api::{ApiFault, CALL_BOUND, code},
    incident::Incident,
    kept::Kept,
    link::Link,
    stored, wire,
};
use crate::contract::Header;

/// Longest subject that is read: a server closes the connection over a longer control line.
const SUBJECT_BYTES_MAX: usize = 3_500;

/// Results that one replay reads at most; a chain is smaller than that.
const REPLAY_MAX: usize = 4_096;

/// Publishes a result where nothing stands yet.
///
/// Without a message id: a stream takes the same id under another subject for a duplicate, says so
/// as if all were well, and stores nothing.
pub(super) async fn publish_result(
    stream: &Kept,
    message: &ResultMessage,
) -> Result<Publishing, BrokerFault> {
    check_subject(&message.subject, "publish result")?;
    let headers = expecting_nothing(&message.headers);
    let body = message.body.clone();
    match stream.publish(&message.subject, headers, body).await {
        Ok(_) => Ok(Publishing::Stored),
        Err(fault) if says_occupied(&fault) => Ok(Publishing::AlreadyThere),
        Err(fault) => Err(fault.into_fault("publish result")),
    }
}

fn expecting_nothing(headers: &Headers) -> HeaderMap {
    let message_id = Header::MessageId.as_str();
    let sent = headers.iter().filter(|(name, _)| *name != message_id);
    let mut map = wire::to_wire(sent);
    map.insert(
        HeaderName::from_static(Header::ExpectedLastSubjectSequence.as_str()),
        HeaderValue::from(0_u64),
    );
    map
}

/// A stream answers with the expected sequence, or with its own bound of one message a subject.
fn says_occupied(fault: &ApiFault) -> bool {
    match fault {
        ApiFault::Refused(error) => {
            let wrong_sequence = [
                code::WRONG_LAST_SEQUENCE,
                code::WRONG_LAST_SEQUENCE_CONSTANT,
            ];
            wrong_sequence.contains(&error.code)
                || (error.code == code::STORE_FAILED && error.description.contains("per subject"))
        }
        ApiFault::Unanswered(_) | ApiFault::Nonsense => false,
    }
}

/// What stands under an exact subject, also if no client can read its headers: those are left out.
///
/// By a call that only a worker may make, since it answers for every subject.
pub(super) async fn standing(
    link: &Link,
    stream: &StreamName,
    subject: &str,
) -> Result<Option<StoredResult>, BrokerFault> {
    check_subject(subject, "read result")?;
    let Some(message) = stored::last(link, stream, subject).await? else {
        return Ok(None);
    };
    let (sequence, body) = (message.sequence, message.body);
    let headers = message.headers.unwrap_or_else(|unreadable| {
        let fault = unreadable.fault;
        link.happened(&Incident::UnreadableResult { sequence, fault });
        Headers::new()
    });
    Ok(Some(StoredResult { headers, body }))
}

/// What stands under an exact subject.
pub(super) async fn read_result(
    link: &Link,
    stream: &StreamName,
    subject: &str,
) -> Result<Option<StoredResult>, BrokerFault> {
    check_subject(subject, "read result")?;
    let call = format!("$JS.API.DIRECT.GET.{}.{subject}", stream.as_str());
    let found = direct_get(link, &call, &Value::Null).await?;
    Ok(found.map(|message| wire::stored_result(&message)))
}

/// The last result under a subject with wildcards, and its own subject.
pub(super) async fn last_result(
    link: &Link,
    stream: &StreamName,
    pattern: &str,
) -> Result<Option<(String, StoredResult)>, BrokerFault> {
    check_pattern(pattern)?;
    let call = format!("$JS.API.DIRECT.GET.{}", stream.as_str());
    let found = direct_get(link, &call, &json!({ "last_by_subj": pattern })).await?;
    Ok(found.map(|message| (subject_of(&message), wire::stored_result(&message))))
}

/// Every stored result under a subject with wildcards, oldest first.
pub(super) async fn replay(
    link: &Link,
    stream: &StreamName,
    pattern: &str,
) -> Result<Vec<(String, StoredResult)>, BrokerFault> {
    check_pattern(pattern)?;
    let call = format!("$JS.API.DIRECT.GET.{}", stream.as_str());
    let mut results = Vec::new();
    let mut from = 1_u64;
    while results.len() < REPLAY_MAX {
        let query = json!({ "seq": from, "next_by_subj": pattern });
        let Some(message) = direct_get(link, &call, &query).await? else {
            break;
        };
        let sequence = wire::header(&message, "Nats-Sequence").and_then(|it| it.parse().ok());
        results.push((subject_of(&message), wire::stored_result(&message)));
        match sequence {
            Some(sequence) => from = u64::saturating_add(sequence, 1),
            None => break,
        }
    }
    Ok(results)
}

/// One message by direct get, or that there is none.
pub(super) async fn direct_get(
    link: &Link,
    call: &str,
    query: &Value,
) -> Result<Option<Message>, BrokerFault> {
    let body = match query {
        Value::Null => String::new(),
        query => query.to_string(),
    };
    let answer = link.request(call, None, body.into(), CALL_BOUND).await;
    let message = answer.map_err(|unanswered| unanswered.into_fault("read result"))?;
    match message.status {
        None => Ok(Some(message)),
        Some(StatusCode::NOT_FOUND) => Ok(None),
        Some(status) => Err(BrokerFault::Refused {
            operation: "read result",
            reason: message.description.unwrap_or_default(),
            code: Some(u64::from(status.as_u16())),
        }),
    }
}

pub(super) fn subject_of(message: &Message) -> String {
    let subject = wire::header(message, "Nats-Subject");
    subject.unwrap_or_default().to_owned()
}

/// A subject that names one place, short and clean enough to be put into a call.
pub(super) fn check_subject(subject: &str, operation: &'static str) -> Result<(), BrokerFault> {
    let wild = |token: &str| token.is_empty() || token == "*" || token == ">";
    if is_clean(subject) && !subject.split('.').any(wild) {
        return Ok(());
    }
    Err(invalid(subject, operation))
}

/// A subject that may have wildcards, short and clean enough to be put into a call.
pub(super) fn check_pattern(pattern: &str) -> Result<(), BrokerFault> {
    if is_clean(pattern) && !pattern.split('.').any(str::is_empty) {
        return Ok(());
    }
    Err(invalid(pattern, "read under a pattern"))
}

fn is_clean(subject: &str) -> bool {
    subject.len() <= SUBJECT_BYTES_MAX && subject.bytes().all(|byte| byte.is_ascii_graphic())
}

fn invalid(subject: &str, operation: &'static str) -> BrokerFault {
    let excerpt: String = subject.chars().take(80).collect();
    BrokerFault::Refused {
        operation,
        reason: format!("{excerpt:?} is not a subject"),
        code: None,
    }
}
