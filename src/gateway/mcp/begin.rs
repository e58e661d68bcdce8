//! Answers that begin in time, whatever a call takes.
//!
//! The protocol's implementation begins an answer with its first message, which may be the result of
//! a call that takes hours; clients, and what is between, give up on a connection on which nothing
//! comes. Such an answer is begun as a stream of events, and kept alive by comments.
//! Never: a status that is known by then; an answer that comes soon goes on as it is.

use std::{pin::Pin, time::Duration};

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::Request,
    http::{HeaderMap, HeaderValue, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use futures_util::{
    Stream, StreamExt as _,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use tokio::time::timeout;

/// How long an answer may take to begin by itself.
const BEGIN_WITHIN: Duration = Duration::from_secs(2);

/// Between two signs of life.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

const EVENT_STREAM: &str = "text/event-stream";

/// A comment, which clients of event streams pass over.
const SIGN_OF_LIFE: Bytes = Bytes::from_static(b":\n\n");

type Events = BoxStream<'static, Result<Bytes, axum::Error>>;

/// Begins the answer in time.
pub(super) async fn in_time(request: Request, next: Next) -> Response {
    let mut answer: BoxFuture<'static, Response> = Box::pin(next.run(request));
    match timeout(BEGIN_WITHIN, &mut answer).await {
        Ok(answer) => answer,
        Err(_late) => begun(answer),
    }
}

fn begun(answer: BoxFuture<'static, Response>) -> Response {
    let kind = [
        (header::CONTENT_TYPE, EVENT_STREAM),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    let signs = stream::once(async { Ok(SIGN_OF_LIFE) });
    (kind, Body::from_stream(signs.chain(awaited(answer)))).into_response()
}

/// Signs of life until the answer is there, then the answer. Dropping it drops the answer.
fn awaited(answer: BoxFuture<'static, Response>) -> impl Stream<Item = Result<Bytes, axum::Error>> {
    let parts = stream::unfold(Some(answer), |answer| async {
        let mut answer = answer?;
        Some(match timeout(KEEP_ALIVE, Pin::new(&mut answer)).await {
            Ok(answer) => (events_of(answer), None),
            Err(_) => (
                stream::once(async { Ok(SIGN_OF_LIFE) }).boxed(),
                Some(answer),
            ),
        })
    });
    parts.flatten()
}

/// An answer as events: one message as one event, and whatever is no message as none.
fn events_of(answer: Response) -> Events {
    let (head, body) = answer.into_parts();
    if is(&head.headers, EVENT_STREAM) {
        return body.into_data_stream().boxed();
    }
    if !is(&head.headers, "application/json") {
        return stream::empty().boxed();
    }
    let event = async move {
        let message = to_bytes(body, usize::MAX).await?;
        Ok([b"data: ", &*message, b"\n\n"].concat().into())
    };
    stream::once(event).boxed()
}

fn is(headers: &HeaderMap, kind: &str) -> bool {
    let given = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    given.is_some_and(|it| it.starts_with(kind.as_bytes()))
}

#[cfg(test)]
mod tests {
    use axum::{
        Json, Router,
        middleware::from_fn,
        response::sse::{self, Sse},
        routing::get,
    };
    use serde_json::json;
    use tokio::time::{Instant, sleep};
    use tower_service::Service as _;

    use super::*;

    fn events() -> Response {
        let event = sse::Event::default().data("two");
        Sse::new(stream::iter([Ok::<_, axum::Error>(event)])).into_response()
    }

    /// What is answered where a route takes this long, and when it began.
    async fn answered(path: &str, takes: Duration) -> (Response, Duration) {
        let late = move |answer: fn() -> Response| {
            get(move || async move {
                sleep(takes).await;
                answer()
            })
        };
        let mut routes = Router::new()
            .route("/message", late(|| Json(json!({"id": 1})).into_response()))
            .route("/events", late(events))
            .route("/words", late(|| "no message".into_response()))
            .layer(from_fn(in_time));
        let asked = Request::get(path).body(Body::empty()).expect("a request");
        let began = Instant::now();
        let answer = routes.call(asked).await.expect("an answer");
        (answer, began.elapsed())
    }

    async fn text(answer: Response) -> String {
        let body = to_bytes(answer.into_body(), usize::MAX).await;
        String::from_utf8(body.expect("whole").into()).expect("text")
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_comes_soon_is_as_it_is() {
        let (answer, took) = answered("/message", Duration::from_secs(1)).await;
        assert_eq!(took, Duration::from_secs(1));
        assert!(is(answer.headers(), "application/json"));
        assert_eq!(text(answer).await, "{\"id\":1}");
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_comes_late_has_begun_as_events_and_shows_signs_of_life() {
        for (path, end) in [
            ("/message", "data: {\"id\":1}\n\n"),
            ("/events", "data: two\n\n"),
            ("/words", ""),
        ] {
            let (answer, took) = answered(path, Duration::from_secs(40)).await;
            assert_eq!(took, BEGIN_WITHIN, "{path}");
            assert!(is(answer.headers(), EVENT_STREAM));
            let signs = ":\n\n".repeat(3);
            assert_eq!(text(answer).await, format!("{signs}{end}"), "{path}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_goes_away_takes_the_question_along() {
        let (gone, dropped) = tokio::sync::oneshot::channel::<()>();
        let never = async move {
            let _kept = gone;
            std::future::pending::<Response>().await
        };
        let mut events = Box::pin(awaited(Box::pin(never)));
        assert!(events.next().await.is_some_and(|sign| sign.is_ok()));
        drop(events);
        assert!(dropped.await.is_err());
    }
}
