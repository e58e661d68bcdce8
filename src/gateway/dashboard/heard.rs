//! Reads what goes over the wire for what it tells of a request.
//!
//! Never: a prompt or an answer kept; they are passed over where they stand.

use std::{borrow::Cow, str::FromStr, time::Duration};

use serde::Deserialize;

use super::recent::{Phase, Told, What};
use crate::{
    broker::{Headers, StoredMessage, StreamName},
    clock::WallTime,
    contract::{
        ActionName, CorrelationId, ErrorCode, Event, EventKind, Header, MintedIds, PurutoName,
        RequestId, Subjects,
    },
};

/// Longest name of a worker that is kept, in bytes.
const WORKER_BYTES_MAX: usize = 200;

/// What a request says of itself beside its prompt.
#[derive(Deserialize)]
struct Asks<'m> {
    request_id: Option<RequestId>,
    correlation_id: Option<CorrelationId>,
    caller: Option<PurutoName>,
    action: ActionName,
    #[serde(borrow, default)]
    target: Option<Cow<'m, str>>,
}

/// What a request as it lies in its stream tells.
pub(super) fn stored_request(subjects: &Subjects, message: &StoredMessage) -> Option<Told> {
    let stream = StreamName::invoke(subjects);
    let stored_at = message.stored_at.unix_millis();
    let minted = MintedIds::of_message(stream.as_str(), message.sequence, stored_at);
    request(
        subjects,
        &message.subject,
        &message.body,
        message.stored_at,
        Some(minted),
    )
}

/// What a request tells; nothing where it has no ids of its own and none were minted for it.
pub(super) fn request(
    subjects: &Subjects,
    subject: &str,
    body: &[u8],
    at: WallTime,
    minted: Option<MintedIds>,
) -> Option<Told> {
    let (target, _) = subjects.parse_invoke(subject)?;
    let asks: Asks<'_> = serde_json::from_slice(body).ok()?;
    if asks.target.is_some_and(|named| named != target.as_str()) {
        return None;
    }
    let (request, correlation) = match minted {
        Some(minted) => (
            asks.request_id.unwrap_or(minted.request_id),
            asks.correlation_id.unwrap_or(minted.correlation_id),
        ),
        None => (asks.request_id?, asks.correlation_id?),
    };
    let caller = asks.caller.unwrap_or_else(PurutoName::anonymous);
    Some(Told {
        target,
        request,
        correlation,
        at,
        what: What::Asked {
            caller: caller.as_str().into(),
            action: asks.action.as_str().into(),
        },
    })
}

/// What a result says of itself beside what came out.
#[derive(Deserialize)]
struct Answers {
    request_id: RequestId,
    correlation_id: CorrelationId,
    duration_ms: u64,
    error: Option<Failed>,
}

#[derive(Deserialize)]
struct Failed {
    code: ErrorCode,
}

/// What a result tells; one that stands aside is none of its request's.
pub(super) fn result(
    subjects: &Subjects,
    subject: &str,
    headers: &Headers,
    body: &[u8],
    at: WallTime,
) -> Option<Told> {
    let target: PurutoName = parsed(headers, Header::Target)?;
    let answers: Answers = serde_json::from_slice(body).ok()?;
    if subject != subjects.result(&answers.correlation_id, &answers.request_id) {
        return None;
    }
    Some(Told {
        target,
        request: answers.request_id,
        correlation: answers.correlation_id,
        at,
        what: What::Answered {
            code: answers.error.map(|it| it.code),
            attempt: parsed(headers, Header::Attempt),
            worker: headers.get(Header::Worker).and_then(worker),
            duration: Duration::from_millis(answers.duration_ms),
            caller: parsed::<PurutoName>(headers, Header::Caller).map(|it| it.as_str().into()),
            action: parsed::<ActionName>(headers, Header::Action).map(|it| it.as_str().into()),
        },
    })
}

/// The name of a worker; a longer text than any worker is named by is none.
fn worker(text: &str) -> Option<Box<str>> {
    (text.len() <= WORKER_BYTES_MAX).then(|| text.into())
}

fn parsed<N: FromStr>(headers: &Headers, header: Header) -> Option<N> {
    headers.get(header)?.parse().ok()
}

/// What an event tells; that a request is done its result tells.
pub(super) fn event(body: &[u8]) -> Option<Told> {
    let event: Event = serde_json::from_slice(body).ok()?;
    let phase = match event.kind {
        EventKind::Accepted
        | EventKind::Started
        | EventKind::Retrying
        | EventKind::Step
        | EventKind::Delegated
        | EventKind::Cancelled => Phase::Running,
        EventKind::Waiting => Phase::Waiting,
        EventKind::ApprovalWanted => Phase::Approval,
        EventKind::Done => return None,
    };
    let worker = event.details.get("worker").and_then(|it| it.as_str());
    Some(Told {
        target: event.target,
        request: event.request_id,
        correlation: event.correlation_id,
        at: event.at,
        what: What::Happened {
            phase,
            attempt: event.attempt,
            worker: worker.map(Into::into),
        },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const AT: WallTime = WallTime::from_unix_millis(1_000);

    fn subjects() -> Subjects {
        Subjects::default()
    }

    fn bytes(value: &serde_json::Value) -> Vec<u8> {
        value.to_string().into_bytes()
    }

    #[test]
    fn a_request_tells_who_asks_for_what() {
        let body = bytes(&json!({
            "request_id": "r", "correlation_id": "c", "caller": "desk", "target": "clerk",
            "action": "ask", "prompt": "a \"secret\"", "more": [1],
        }));
        let told = request(&subjects(), "puruto.invoke.clerk.high", &body, AT, None).unwrap();
        let (caller, action) = ("desk".into(), "ask".into());
        assert_eq!(told.what, What::Asked { caller, action });
        assert_eq!(told.target.as_str(), "clerk");
        let elsewhere = request(&subjects(), "puruto.invoke.other", &body, AT, None);
        assert_eq!(elsewhere, None);
    }

    #[test]
    fn a_request_without_ids_is_told_of_once_it_lies_in_the_stream() {
        let body = bytes(&json!({"target": "clerk", "action": "ask", "prompt": "p"}));
        let live = request(&subjects(), "puruto.invoke.clerk", &body, AT, None);
        assert_eq!(live, None);
        let stored = StoredMessage {
            sequence: 7,
            subject: "puruto.invoke.clerk".into(),
            headers: Ok(Headers::new()),
            body: body.into(),
            stored_at: AT,
        };
        let told = stored_request(&subjects(), &stored).unwrap();
        let minted = MintedIds::of_message("PURUTO_INVOKE", 7, 1_000);
        assert_eq!(told.request, minted.request_id);
    }

    #[test]
    fn a_result_tells_how_it_ended_and_by_whom() {
        let body = bytes(&json!({
            "request_id": "r", "correlation_id": "c", "status": "error", "duration_ms": 40,
            "error": {"code": "TIMEOUT", "message": "late", "details": null},
        }));
        let mut headers = Headers::new();
        headers.push(Header::Target, "clerk");
        headers.push(Header::Attempt, "3");
        headers.push(Header::Worker, "w-1");
        headers.push(Header::Caller, "desk");
        headers.push(Header::Action, "ask");
        let told = result(&subjects(), "puruto.result.c.r", &headers, &body, AT).unwrap();
        let expected = What::Answered {
            code: Some(ErrorCode::Timeout),
            attempt: Some(3),
            worker: Some("w-1".into()),
            duration: Duration::from_millis(40),
            caller: Some("desk".into()),
            action: Some("ask".into()),
        };
        assert_eq!(told.what, expected);
        assert_eq!(told.began(), WallTime::from_unix_millis(960));
        let aside = result(&subjects(), "puruto.result.c.r.f00", &headers, &body, AT);
        assert_eq!(aside, None);
    }

    #[test]
    fn what_is_none_of_these_tells_nothing() {
        assert_eq!(event(b"{"), None);
        assert_eq!(
            request(&subjects(), "puruto.invoke.a", b"[]", AT, None),
            None
        );
        let nobody = Headers::new();
        assert_eq!(
            result(&subjects(), "puruto.result.c.r", &nobody, b"{}", AT),
            None
        );
    }
}
