//! An execution as it goes on, as server-sent events.
//!
//! Each event has an id from which any gateway goes on (`Last-Event-ID`): it names the last state
//! that was sent, the time of the last happening, and the last piece of the answer.
//! Never: a promise that every piece is heard; the last event has the whole result.

use std::{convert::Infallible, fmt, net::SocketAddr, str::FromStr, sync::Arc, time::Duration};

use axum::{
    extract::{ConnectInfo, Path, State},
    http::{HeaderMap, StatusCode},
    response::{
        IntoResponse as _, Response,
        sse::{self, KeepAlive, Sse},
    },
};
use futures_util::{FutureExt as _, Stream, stream};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{
    documents::{ExecutionDocument, Showing},
    front::Front,
};
use crate::{
    client::Heard,
    contract::Event,
    gateway::{
        executions::{ExecutionStatus, Gone, State as Standing, Watched},
        fleet::Tokens,
        problem::{Problem, ProblemDocument},
    },
};

/// A word now and then keeps what is between from taking a stream for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The header by which a client goes on.
const LAST_EVENT_ID: &str = "last-event-id";

/// Follow an execution as it goes on
///
/// Server-sent events: `status` (the document of the execution, at the end with its output),
/// `progress` (what happened on the way), `token` (the answer as it is being written), `gap` (some
/// of the answer was missed; what follows is left out until it starts again, and the end has all). The stream ends with the execution. `Last-Event-ID` goes on behind
/// that event, on any gateway.
#[utoipa::path(
    get,
    path = "/v1/executions/{execution_id}/events",
    tag = "executions",
    params(
        ("execution_id" = String, Path, description = "As the invocation was answered"),
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that was received"),
    ),
    responses(
        (status = 200, description = "The events", body = EventDocument, content_type = "text/event-stream"),
        (status = 204, description = "The last event was received before"),
        (status = 401, description = "What is shown is not good", body = ProblemDocument),
        (status = 404, description = "There is no such execution, or it is another's", body = ProblemDocument),
        (status = 410, description = "Its result is kept no longer", body = ProblemDocument),
        (status = 429, description = "The caller asked too much", body = ProblemDocument),
        (status = 503, description = "The fleet does not answer", body = ProblemDocument),
    ),
    security((), ("api_key" = []), ("oauth2" = [])),
)]
pub(super) async fn events(
    State(front): State<Front>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let who = front.identify(&headers, peer).await?;
    let execution = front.desk.find(&who, &id).await?;
    let last = headers.get(LAST_EVENT_ID).and_then(|it| it.to_str().ok());
    // An id that none of ours wrote says nothing: everything is sent.
    let cursor: Cursor = last.and_then(|it| it.parse().ok()).unwrap_or_default();
    if cursor.sent == Sent::End {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    // Before the state is read: what is said from here on is heard.
    let next = cursor.token.map_or(0, |last| last.saturating_add(1));
    let tokens = front.desk.fleet().tokens(&execution, next).await?;
    let watched = front.desk.watch(&execution).await?;
    let told = Telling {
        front,
        watched,
        tokens,
        cursor,
        events: 0,
    };
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(told.stream())
        .keep_alive(keep_alive)
        .into_response())
}

/// One event, as a reader of the stream has it.
#[derive(ToSchema)]
struct EventDocument {
    /// From where a stream goes on.
    id: String,
    /// What kind of thing it tells.
    #[schema(pattern = "^(status|progress|token|gap)$")]
    event: &'static str,
    /// What it tells: an object of JSON, by the kind.
    #[schema(content_media_type = "application/json")]
    data: String,
}

impl From<EventDocument> for sse::Event {
    fn from(event: EventDocument) -> Self {
        // JSON is one line.
        let EventDocument { id, event, data } = event;
        Self::default().event(event).id(id).data(data)
    }
}

/// Which state was sent last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Sent {
    #[default]
    Nothing,
    Accepted,
    Running,
    End,
}

/// Where a stream goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cursor {
    sent: Sent,
    /// The time of the last happening, milliseconds since 1970.
    told: u64,
    /// The index of the last piece of the answer.
    token: Option<u64>,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sent = match self.sent {
            Sent::Nothing => 0,
            Sent::Accepted => 1,
            Sent::Running => 2,
            Sent::End => 3,
        };
        write!(f, "{sent}-{}", self.told)?;
        match self.token {
            Some(index) => write!(f, "-{index}"),
            None => Ok(()),
        }
    }
}

/// A text that no event of ours has for its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NoCursor;

impl FromStr for Cursor {
    type Err = NoCursor;

    fn from_str(text: &str) -> Result<Self, NoCursor> {
        let mut parts = text.split('-');
        let sent = match parts.next() {
            Some("0") => Sent::Nothing,
            Some("1") => Sent::Accepted,
            Some("2") => Sent::Running,
            Some("3") => Sent::End,
            _ => return Err(NoCursor),
        };
        let number = |part: &str| part.parse::<u64>().map_err(|_| NoCursor);
        let told = parts.next().ok_or(NoCursor).and_then(number)?;
        let token = parts.next().map(number).transpose()?;
        match parts.next() {
            None => Ok(Self { sent, told, token }),
            Some(_) => Err(NoCursor),
        }
    }
}

/// One stream.
struct Telling {
    front: Front,
    watched: Arc<Watched>,
    tokens: Box<dyn Tokens>,
    cursor: Cursor,
    /// How many of the happenings that are known here were looked at.
    events: usize,
}

impl Telling {
    fn stream(self) -> impl Stream<Item = Result<sse::Event, Infallible>> + Send {
        // One allocation for all that waits, and none while it does.
        stream::unfold(Box::new(self), |mut told| async move {
            if told.cursor.sent == Sent::End {
                return None;
            }
            let event = told.next().await?;
            Some((Ok(event), told))
        })
    }

    /// The next event; none where nothing more can be told.
    async fn next(&mut self) -> Option<sse::Event> {
        let watched = Arc::clone(&self.watched);
        loop {
            let changed = watched.changed();
            let state = match watched.state() {
                Ok(state) => state,
                Err(Gone) => return None,
            };
            if let Some(event) = self.due(&state) {
                return Some(event);
            }
            tokio::select! {
                biased;
                heard = self.tokens.next() => return Some(self.heard(&heard)),
                () = changed => {}
            }
        }
    }

    /// What is to be said at once: states in their order, and before the last of them all else.
    fn due(&mut self, state: &Standing) -> Option<sse::Event> {
        let status = state.status();
        if self.cursor.sent < Sent::Accepted {
            return Some(self.status(Sent::Accepted, &Standing::ACCEPTED));
        }
        let runs = status >= ExecutionStatus::Running;
        if self.cursor.sent < Sent::Running && runs && state.started.is_some() {
            return Some(self.status(Sent::Running, &state.before_its_end()));
        }
        if let Some(event) = self.happened() {
            return Some(event);
        }
        if !status.is_final() {
            return None;
        }
        match self.tokens.next().now_or_never() {
            Some(heard) => Some(self.heard(&heard)),
            None => Some(self.status(Sent::End, state)),
        }
    }

    fn status(&mut self, sent: Sent, state: &Standing) -> sse::Event {
        self.cursor.sent = sent;
        let execution = &self.watched.execution;
        let document = ExecutionDocument::of(&self.front, execution, state, Showing::Result);
        self.event("status", &json!(document))
    }

    /// The next happening that was not sent. One of the same millisecond as the last may come twice
    /// where a stream goes on.
    fn happened(&mut self) -> Option<sse::Event> {
        let event = self.watched.event(self.events)?;
        self.events += 1;
        let at = event.at.unix_millis();
        if at < self.cursor.told {
            return self.happened();
        }
        self.cursor.told = at;
        Some(self.event("progress", &progress(&event)))
    }

    fn heard(&mut self, heard: &Heard) -> sse::Event {
        match heard {
            Heard::Says(message) => {
                self.cursor.token = Some(message.index);
                self.event("token", &json!(message))
            }
            Heard::Gap => self.event("gap", &json!({})),
        }
    }

    fn event(&self, event: &'static str, data: &Value) -> sse::Event {
        let (id, data) = (self.cursor.to_string(), data.to_string());
        EventDocument { id, event, data }.into()
    }
}

/// A happening, without what names the fleet's own parts.
fn progress(event: &Event) -> Value {
    let mut details = event.details.clone();
    details.shift_remove("worker");
    json!({ "kind": event.kind, "at": event.at.to_string(), "attempt": event.attempt, "details": details })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        for text in [
            "0-0",
            "1-0",
            "2-1780000000250",
            "2-1780000000250-17",
            "3-5-0",
        ] {
            assert_eq!(text.parse::<Cursor>().unwrap().to_string(), text);
        }
        for wrong in ["", "4-0", "1", "1-x", "1-2-3-4", "1--2"] {
            assert_eq!(wrong.parse::<Cursor>(), Err(NoCursor), "{wrong}");
        }
    }
}
