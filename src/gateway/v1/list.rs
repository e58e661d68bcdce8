//! One's own executions, a page at a time.

use std::net::SocketAddr;

use axum::{
    Json,
    extract::{ConnectInfo, Query, State, rejection::QueryRejection},
    http::{HeaderMap, StatusCode},
};
use serde::Deserialize;

use super::{
    documents::{ExecutionDocument, ListDocument, Showing},
    front::Front,
};
use crate::{
    clock::WallTime,
    contract::Violation,
    gateway::problem::{Problem, ProblemCode, ProblemDocument},
    store::executions::{Execution, ListedAfter},
};

/// Executions on a page where the caller does not say ...
const PAGE: usize = 20;

/// ... and at most.
const PAGE_MAX: usize = 100;

/// Digits of a time in milliseconds that are taken: what Redis counts exactly, and more than a
/// thousand years.
const CREATED_DIGITS_MAX: usize = 15;

/// Which page.
#[derive(Debug, Deserialize)]
pub(super) struct Which {
    limit: Option<usize>,
    cursor: Option<String>,
}

/// List one's own executions
///
/// The latest first. Executions that were started without proof of who asks are listed for nobody.
#[utoipa::path(
    get,
    path = "/v1/executions",
    tag = "executions",
    params(
        ("limit" = Option<u32>, Query, description = "How many at most; 20 where it is not said",
            minimum = 1, maximum = 100),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before",
            pattern = r"^[0-9]{1,15}\.[^\u0000-\u001F\u007F-\u009F]{1,200}$"),
    ),
    responses(
        (status = 200, description = "A page of them", body = ListDocument),
        (status = 401, description = "It is not proven who asks", body = ProblemDocument),
        (status = 422, description = "There is no such page", body = ProblemDocument),
        (status = 429, description = "The caller asked too much", body = ProblemDocument),
        (status = 503, description = "The fleet does not answer", body = ProblemDocument),
    ),
    security(("api_key" = []), ("oauth2" = [])),
)]
pub(super) async fn list(
    State(front): State<Front>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    which: Result<Query<Which>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<ListDocument>, Problem> {
    let who = front.identify(&headers, peer).await?;
    if !who.is_known() {
        return Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            ProblemCode::AuthRequired,
            "a list is somebody's: send a key, or a bearer token",
        ));
    }
    let Query(which) = which.map_err(|error| invalid("limit", "an integer", &error.body_text()))?;
    let most = match which.limit {
        None => PAGE,
        Some(limit) if (1..=PAGE_MAX).contains(&limit) => limit,
        Some(limit) => {
            return Err(invalid(
                "limit",
                "an integer from 1 to 100",
                &limit.to_string(),
            ));
        }
    };
    let after = which.cursor.as_deref().map(read_cursor).transpose()?;
    let page = front.desk.list(&who, after.as_ref(), most).await?;
    let next_cursor = match page.last() {
        Some((last, _)) if page.len() == most => Some(cursor(last)),
        _ => None,
    };
    // Of what is kept no longer there is nothing to tell.
    let kept = page.iter().filter_map(|(execution, state)| {
        let state = state.as_ref()?;
        Some(ExecutionDocument::of(
            &front,
            execution,
            state,
            Showing::Status,
        ))
    });
    Ok(Json(ListDocument {
        executions: kept.collect(),
        next_cursor,
    }))
}

fn cursor(last: &Execution) -> String {
    format!("{}.{}", last.created.unix_millis(), last.key.request)
}

fn read_cursor(text: &str) -> Result<ListedAfter, Problem> {
    let read = || {
        let (created, id) = text.split_once('.')?;
        let is_time = created.len() <= CREATED_DIGITS_MAX
            && created.bytes().all(|byte| byte.is_ascii_digit());
        is_time.then_some(ListedAfter {
            created: WallTime::from_unix_millis(created.parse().ok()?),
            id: id.parse().ok()?,
        })
    };
    read().ok_or_else(|| invalid("cursor", "the `next_cursor` of a page", text))
}

fn invalid(field: &str, expected: &str, actual: &str) -> Problem {
    Problem::invalid(vec![Violation::new(field, expected, actual)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_anything_else_is_refused() {
        let read = read_cursor("1780000000250.a.b").unwrap();
        assert_eq!(read.created.unix_millis(), 1_780_000_000_250);
        assert_eq!(read.id.as_str(), "a.b");
        let wrongs = [
            "",
            "!",
            "17",
            ".a",
            "17.",
            "noon.a",
            "+17.a",
            "17.a\n",
            "1780000000250000.a",
        ];
        for wrong in wrongs {
            assert!(read_cursor(wrong).is_err(), "{wrong}");
        }
    }
}
