//! How long the answer to a request may take to begin.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{extract::Request, middleware::Next, response::Response};
use tokio::time::{Instant, timeout_at};

use super::Refusal;

/// The time that one request's answer may take to begin, in the request's extensions. A route
/// that lets its caller wait asks for more.
#[derive(Clone, Debug, Default)]
pub struct Patience(Arc<AtomicU64>);

impl Patience {
    /// The answer may begin later by as much as `wait`; the longest that is asked for counts.
    pub fn allow(&self, wait: Duration) {
        let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        self.0.fetch_max(millis, Ordering::Relaxed);
    }

    fn allowed(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// The answer of the routes, if it begins within `within` and what the route asks for beyond.
pub(super) async fn answer(
    mut request: Request,
    routes: Next,
    within: Duration,
) -> Result<Response, Refusal> {
    let patience = Patience::default();
    request.extensions_mut().insert(patience.clone());
    let began = Instant::now();
    let mut answer = std::pin::pin!(routes.run(request));
    let mut allowed = within;
    loop {
        if let Ok(answer) = timeout_at(began + allowed, answer.as_mut()).await {
            return Ok(answer);
        }
        let longer = within + patience.allowed();
        if longer == allowed {
            return Err(Refusal::AnswerLate { within: allowed });
        }
        allowed = longer;
    }
}
