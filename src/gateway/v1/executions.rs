//! Steps two and three: how an execution stands, and what came out; and its cancel.

use std::net::SocketAddr;

use axum::{
    Json,
    extract::{ConnectInfo, Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};

use super::{
    documents::{ExecutionDocument, Showing},
    front::Front,
    invoke::ASK_AFTER,
};
use crate::gateway::{
    executions::{Sighted, Unfound},
    problem::{Problem, ProblemDocument},
};

/// Tell how an execution stands
#[utoipa::path(
    get,
    path = "/v1/executions/{execution_id}",
    tag = "executions",
    params(("execution_id" = String, Path, description = "As the invocation was answered")),
    responses(
        (status = 200, description = "How it stands", body = ExecutionDocument,
            headers(("Retry-After" = u64, description = "When to ask again, while it goes on"))),
        (status = 401, description = "What is shown is not good", body = ProblemDocument),
        (status = 404, description = "There is no such execution, or it is another's", body = ProblemDocument),
        (status = 410, description = "Its result is kept no longer", body = ProblemDocument),
        (status = 429, description = "The caller asked too much", body = ProblemDocument),
        (status = 503, description = "The fleet does not answer", body = ProblemDocument),
    ),
    security((), ("api_key" = []), ("oauth2" = [])),
)]
pub(super) async fn status(
    State(front): State<Front>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let sighted = sighted(&front, peer, &id, &headers).await?;
    Ok(answer(&front, &sighted, StatusCode::OK, Showing::Status))
}

/// Fetch what came out of an execution
///
/// One that failed is an answer too: its document has an error and no output.
#[utoipa::path(
    get,
    path = "/v1/executions/{execution_id}/result",
    tag = "executions",
    params(("execution_id" = String, Path, description = "As the invocation was answered")),
    responses(
        (status = 200, description = "It ended", body = ExecutionDocument),
        (status = 202, description = "It goes on", body = ExecutionDocument,
            headers(("Retry-After" = u64, description = "When to ask again"))),
        (status = 401, description = "What is shown is not good", body = ProblemDocument),
        (status = 404, description = "There is no such execution, or it is another's", body = ProblemDocument),
        (status = 410, description = "Its result is kept no longer", body = ProblemDocument),
        (status = 429, description = "The caller asked too much", body = ProblemDocument),
        (status = 503, description = "The fleet does not answer", body = ProblemDocument),
    ),
    security((), ("api_key" = []), ("oauth2" = [])),
)]
pub(super) async fn result(
    State(front): State<Front>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let sighted = sighted(&front, peer, &id, &headers).await?;
    let status = if sighted.state.status().is_final() {
        StatusCode::OK
    } else {
        StatusCode::ACCEPTED
    };
    Ok(answer(&front, &sighted, status, Showing::Result))
}

/// Cancel an execution with all that it asked of others
///
/// One that has ended stays as it is. One that has not ends as failed with code `CANCELLED`, as
/// soon as whoever works on it has let go of it.
#[utoipa::path(
    post,
    path = "/v1/executions/{execution_id}/cancel",
    tag = "executions",
    params(("execution_id" = String, Path, description = "As the invocation was answered")),
    responses(
        (status = 200, description = "It has ended", body = ExecutionDocument),
        (status = 202, description = "It is about to end", body = ExecutionDocument,
            headers(("Retry-After" = u64, description = "When to ask"))),
        (status = 401, description = "What is shown is not good", body = ProblemDocument),
        (status = 404, description = "There is no such execution, or it is another's", body = ProblemDocument),
        (status = 410, description = "Its result is kept no longer", body = ProblemDocument),
        (status = 429, description = "The caller asked too much", body = ProblemDocument),
        (status = 503, description = "The fleet does not answer", body = ProblemDocument),
    ),
    security((), ("api_key" = []), ("oauth2" = [])),
)]
pub(super) async fn cancel(
    State(front): State<Front>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let who = front.identify(&headers, peer).await?;
    let execution = front.desk.find(&who, &id).await?;
    let state = front.desk.cancel(&execution).await?;
    let status = if state.status().is_final() {
        StatusCode::OK
    } else {
        StatusCode::ACCEPTED
    };
    let sighted = Sighted { execution, state };
    Ok(answer(&front, &sighted, status, Showing::Status))
}

async fn sighted(
    front: &Front,
    peer: SocketAddr,
    id: &str,
    headers: &HeaderMap,
) -> Result<Sighted, Problem> {
    let who = front.identify(headers, peer).await?;
    Ok(front.desk.sight(&who, id).await?)
}

fn answer(front: &Front, sighted: &Sighted, status: StatusCode, showing: Showing) -> Response {
    let Sighted { execution, state } = sighted;
    let document = ExecutionDocument::of(front, execution, state, showing);
    let mut response = (status, Json(document)).into_response();
    if !state.status().is_final() {
        let again = ASK_AFTER.as_secs().into();
        response.headers_mut().insert(header::RETRY_AFTER, again);
    }
    response
}

impl From<Unfound> for Problem {
    fn from(unfound: Unfound) -> Self {
        match unfound {
            Unfound::Unknown => Self::no_execution(),
            Unfound::Gone => Self::gone(),
            Unfound::Fault(fault) => fault.into(),
        }
    }
}
