//! Sessions of the versions before 2026-07-28: a name that a client calls under.
//!
//! Owns that a call's execution has its id by the session and the call's own id, so that a notice of
//! cancellation finds it on any gateway, and a call that is sent twice is one.
//! Never: anything that is kept of a session; so none is ever lost, and none has to be ended.

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use rmcp::model::RequestId;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{Door, MESSAGE_BYTES_MAX, admission::Admitted, call};
use crate::{clock::Chance, gateway::executions::IdempotencyKey};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

const INITIALIZE: &str = "initialize";
const CANCELLED: &str = "notifications/cancelled";

/// A session, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Session(Uuid);

impl Session {
    fn fresh(chance: &Chance) -> Self {
        let bytes = chance.bits128().to_be_bytes();
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }

    /// The session that a request names; an error where it names none of ours.
    fn named(headers: &HeaderMap) -> Result<Option<Self>, StatusCode> {
        let Some(named) = headers.get(SESSION) else {
            return Ok(None);
        };
        let ours = named.to_str().ok().and_then(|it| it.parse().ok());
        ours.map(|it| Some(Self(it))).ok_or(StatusCode::NOT_FOUND)
    }

    /// What makes the call of this id one execution, however often it is sent.
    pub(super) fn key(&self, call: &RequestId) -> IdempotencyKey {
        let call = call.clone().into_json_value().to_string();
        let digest: [u8; 32] = Sha256::digest(format!("{} {call}", self.0)).into();
        let digits = digest.iter().map(|byte| format!("{byte:02x}"));
        IdempotencyKey::new(&digits.collect::<String>()).expect("64 hexadecimal digits")
    }
}

/// What of a message concerns its session.
#[derive(Debug, Default, Deserialize)]
struct Message {
    #[serde(default)]
    method: String,
    #[serde(default)]
    params: Params,
}

#[derive(Debug, Default, Deserialize)]
struct Params {
    #[serde(default, rename = "requestId")]
    cancelled: Option<RequestId>,
}

/// Gives a session to whoever begins one, and acts on what is said in one. Whether a message is one
/// at all is for the protocol's own implementation to say, which sees it first.
pub(super) async fn keep(State(door): State<Door>, request: Request, next: Next) -> Response {
    let session = match Session::named(request.headers()) {
        Ok(session) => session,
        Err(status) => return (status, "no such session: initialize a new one").into_response(),
    };
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MESSAGE_BYTES_MAX).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let admitted = parts.extensions.get::<Admitted>().cloned();
    if let Some(session) = session {
        parts.extensions.insert(session);
    }
    let message = concerning(&body);
    let answer = next.run(Request::from_parts(parts, Body::from(body))).await;
    match (&*message.method, session, message.params.cancelled) {
        (INITIALIZE, _, _) if answer.status() == StatusCode::OK => {
            begun(Session::fresh(&door.chance), answer)
        }
        (CANCELLED, Some(session), Some(id)) if answer.status() == StatusCode::ACCEPTED => {
            if let Some(admitted) = admitted {
                call::cancel_named(&door.desk, &admitted.who, &session.key(&id)).await;
            }
            answer
        }
        _ => answer,
    }
}

/// Nothing, where the body is no message.
fn concerning(body: &Bytes) -> Message {
    serde_json::from_slice(body).unwrap_or_default()
}

fn begun(session: Session, mut answer: Response) -> Response {
    if let Ok(name) = HeaderValue::try_from(session.0.to_string()) {
        answer.headers_mut().insert(SESSION, name);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(json: &str) -> RequestId {
        serde_json::from_str(json).expect("an id")
    }

    #[test]
    fn each_call_of_each_session_has_a_key_of_its_own() {
        let chance = Chance::seeded(1);
        let (a, b) = (Session::fresh(&chance), Session::fresh(&chance));
        assert_eq!(a.key(&id("1")), a.key(&id("1")));
        for other in [a.key(&id("2")), a.key(&id("\"1\"")), b.key(&id("1"))] {
            assert_ne!(other, a.key(&id("1")));
        }
    }

    #[test]
    fn a_session_is_known_wherever_it_began_and_a_strange_one_is_not() {
        let named = |text: String| {
            let value = HeaderValue::try_from(text).expect("a header");
            Session::named(&HeaderMap::from_iter([(SESSION, value)]))
        };
        let session = Session::fresh(&Chance::seeded(1));
        assert_eq!(named(session.0.to_string()), Ok(Some(session)));
        assert_eq!(named("17".to_owned()), Err(StatusCode::NOT_FOUND));
        assert_eq!(Session::named(&HeaderMap::new()), Ok(None));
    }

    #[test]
    fn what_is_no_message_concerns_no_session() {
        for odd in ["", "[]", "{\"method\": 1}", "{\"params\": []}"] {
            let message = concerning(&Bytes::from(odd.to_owned()));
            assert_eq!((&*message.method, message.params.cancelled), ("", None));
        }
        let notice = r#"{"method": "notifications/cancelled", "params": {"requestId": 3}}"#;
        let notice = concerning(&Bytes::from(notice));
        assert_eq!(
            (&*notice.method, notice.params.cancelled),
            (CANCELLED, Some(id("3")))
        );
    }
}
