//! One request and the head of its answer, over a kept connection or a fresh one.
//!
//! A kept connection may have died without our knowing. If not one byte of an answer came over it,
//! the request goes once, at once, over a fresh connection: that is no attempt, and the breaker
//! does not hear of it. A server that had read the request before its connection died then sees it
//! twice. Never: a second re-dial, or one of a fresh connection.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response, body::Incoming, http::response::Parts};
use tokio::time::timeout;
use tracing::debug;

use super::{
    body::Body,
    broken,
    dial::Dial,
    link::{Link, Unanswered},
    pool::Permit,
    rules::{Limits, PoolRules},
};
use crate::runtime::{Fault, fault::Phase};

/// The head of an answer, and its body unread.
#[derive(Debug)]
pub(in crate::runtime::connector) struct Answered {
    pub(in crate::runtime::connector) head: Parts,
    pub(in crate::runtime::connector) body: Body,
}

/// Sends `request` under `permit`, which the body of the answer holds until it is read or dropped.
///
/// # Errors
/// There was no connection, or no answer over it in time.
pub(in crate::runtime::connector) async fn exchange(
    request: Request<Full<Bytes>>,
    permit: Permit,
    dial: &dyn Dial,
    rules: &PoolRules,
    limits: &Limits,
) -> Result<Answered, Fault> {
    let (mut link, response) = answered(request, &permit, dial, rules, limits).await?;
    let idle_for = link.answered(response.headers(), rules.idle_timeout);
    let (head, incoming) = response.into_parts();
    let body = Body::new(incoming, &head.headers, limits).over(link, permit, idle_for);
    Ok(Answered { head, body })
}

type Head = (Link, Response<Incoming>);

async fn answered(
    request: Request<Full<Bytes>>,
    permit: &Permit,
    dial: &dyn Dial,
    rules: &PoolRules,
    limits: &Limits,
) -> Result<Head, Fault> {
    if let Some(link) = permit.kept() {
        match head_over(link, request.clone(), limits.first_byte).await? {
            Ok(head) => return Ok(head),
            Err(Unanswered {
                error,
                silent: true,
            }) => debug!(%error, "redialled"),
            Err(Unanswered { error, .. }) => return Err(broken::broken(&error)),
        }
    }
    let link = fresh(dial, rules.connect_timeout).await?;
    let head = head_over(link, request, limits.first_byte).await?;
    head.map_err(|unanswered| broken::broken(&unanswered.error))
}

async fn fresh(dial: &dyn Dial, after: Duration) -> Result<Link, Fault> {
    let late = || Fault::Timeout {
        phase: Phase::Connect,
        after,
    };
    let stream = match timeout(after, dial.dial()).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) if broken::timed_out(&*error) => return Err(late()),
        Ok(Err(error)) => return Err(broken::broken(&*error)),
        Err(_) => return Err(late()),
    };
    let link = Link::over(stream).await;
    link.map_err(|error| broken::broken(&error))
}

/// # Errors
/// [`Fault::Timeout`] of the phase `FirstByte`.
async fn head_over(
    mut link: Link,
    request: Request<Full<Bytes>>,
    first_byte: Option<Duration>,
) -> Result<Result<Head, Unanswered>, Fault> {
    let sending = link.send(request);
    let sent = match first_byte {
        Some(after) => timeout(after, sending).await.map_err(|_| Fault::Timeout {
            phase: Phase::FirstByte,
            after,
        })?,
        None => sending.await,
    };
    Ok(sent.map(|response| (link, response)))
}
