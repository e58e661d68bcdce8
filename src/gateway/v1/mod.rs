//! The door for skill consumers: the three steps, and what goes with them.
//!
//! Owns the addresses under `/v1`, their documents, and the description of both.
//! Never: what an execution is; that is asked of the desk.

mod described;
mod discovery;
mod documents;
mod events;
mod executions;
mod front;
mod invoke;
mod list;
mod order;
mod page;
mod prefer;

pub use self::front::Front;

use axum::Router;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::gateway::problem::{Problem, ProblemCode};

/// The routes of this door, and those that describe it.
pub fn routes(front: Front) -> Router {
    let (routes, description) = OpenApiRouter::with_openapi(described::head(&front))
        .routes(routes!(invoke::invoke))
        .routes(routes!(list::list))
        .routes(routes!(executions::status))
        .routes(routes!(executions::result))
        .routes(routes!(events::events))
        .routes(routes!(executions::cancel))
        .routes(routes!(discovery::discovery))
        .routes(routes!(discovery::descriptor))
        .split_for_parts();
    routes
        .with_state(front)
        .merge(described::routes(description))
        .method_not_allowed_fallback(no_method)
}

/// The answer to an address that is none.
pub async fn no_route() -> Problem {
    Problem::new(
        axum::http::StatusCode::NOT_FOUND,
        ProblemCode::NotFound,
        "there is nothing here: /openapi.json tells what there is",
    )
}

async fn no_method() -> Problem {
    Problem::new(
        axum::http::StatusCode::METHOD_NOT_ALLOWED,
        ProblemCode::MethodNotAllowed,
        "this address has no such method: /openapi.json tells which it has",
    )
}
