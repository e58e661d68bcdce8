//! Streams of events, which nothing but their client or the gateway's end ends.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    http::header::CONTENT_TYPE,
    response::Response,
};
use hyper::body::Frame;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::telemetry::metrics::http::{HttpMetrics, Open};

const EVENT_STREAM: &[u8] = b"text/event-stream";

/// The answer itself; as a stream of events, one that is counted, and ends with `stop`.
pub(super) fn ended_with(
    stop: &CancellationToken,
    metrics: &HttpMetrics,
    answer: Response,
) -> Response {
    let kind = answer.headers().get(CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(EVENT_STREAM)) {
        return answer;
    }
    answer.map(|events| {
        Body::new(Events {
            events,
            stop: Box::pin(stop.clone().cancelled_owned()),
            _open: metrics.stream_opened(),
        })
    })
}

struct Events {
    events: Body,
    stop: Pin<Box<WaitForCancellationFutureOwned>>,
    _open: Open,
}

impl HttpBody for Events {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // Between two events: clients take them up where they left off, elsewhere.
        if self.stop.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.events).poll_frame(context)
    }
}
