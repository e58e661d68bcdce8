//! What stands around every route, from the outermost to the innermost: the account of the
//! request, headers, other origins, panics, its body, its time.

use std::{any::Any, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;

use super::{
    Refusal,
    body::Bodies,
    events,
    headers::{self, Transport},
    observe::Observed,
    origins, patience,
};
use crate::{
    config::GatewayConfig,
    telemetry::metrics::{Metrics, http::HttpMetrics},
};

/// How a refusal is told.
pub type Tell = fn(Refusal) -> Response;

/// Where what is done around routes is counted and told, and what ends it.
#[derive(Clone, Debug)]
pub struct Guard {
    /// The counters of the process.
    pub metrics: Metrics,
    /// How a request is told that no route answers it.
    pub tell: Tell,
    /// Ends the streams of events.
    pub stop: CancellationToken,
}

#[derive(Clone)]
struct Account {
    metrics: Arc<HttpMetrics>,
    transport: Transport,
    stop: CancellationToken,
}

#[derive(Clone)]
struct Admission {
    bodies: Bodies,
    answer_within: Duration,
    tell: Tell,
}

/// The routes within the bounds that `config` sets.
///
/// A route gets each body whole, and [`super::Patience`] as an extension of its request, by which
/// it may answer later than `gateway.request_timeout`.
pub fn guarded(routes: Router, config: &GatewayConfig, guard: Guard) -> Router {
    let account = Account {
        metrics: guard.metrics.http(),
        transport: match config.tls_certificate {
            Some(_) => Transport::Tls,
            None => Transport::Plain,
        },
        stop: guard.stop,
    };
    let limit = usize::try_from(config.max_body.get()).unwrap_or(usize::MAX);
    let admission = Admission {
        bodies: Bodies::new(limit, config.request_timeout),
        answer_within: config.request_timeout,
        tell: guard.tell,
    };
    let tell = guard.tell;
    let routes = routes
        .layer(from_fn_with_state(admission, admit))
        .layer(CatchPanicLayer::custom(move |panic| panicked(panic, tell)));
    let routes = match origins::allowed(&config.cors_origins) {
        Some(allowed) => routes.layer(allowed),
        None => routes,
    };
    routes.layer(from_fn_with_state(account, keep))
}

async fn keep(State(account): State<Account>, request: Request, next: Next) -> Response {
    let observed = Observed::begin(&request, Arc::clone(&account.metrics));
    let mut answer = next.run(request).await;
    headers::complete(answer.headers_mut(), account.transport);
    observed.answered(answer.status());
    events::ended_with(&account.stop, &account.metrics, answer)
}

async fn admit(State(admission): State<Admission>, request: Request, next: Next) -> Response {
    let answer = async {
        let (request, room) = admission.bodies.whole(request).await?;
        let answer = patience::answer(request, next, admission.answer_within).await;
        drop(room);
        answer
    };
    answer.await.unwrap_or_else(admission.tell)
}

/// What it panicked with may hold anything; the panic hook has told whoever may know.
fn panicked(_with: Box<dyn Any + Send>, tell: Tell) -> Response {
    tell(Refusal::Panicked)
}
