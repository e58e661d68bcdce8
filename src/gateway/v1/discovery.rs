//! What skills there are.

use axum::{
    Json,
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};
use serde_json::Value;

use super::front::Front;
use crate::gateway::problem::{Problem, ProblemCode, ProblemDocument};

/// For how long a list of skills may be kept.
const FRESH_FOR: &str = "public, max-age=60";

/// List the skills
#[utoipa::path(
    get,
    path = "/.well-known/skill-sharing",
    tag = "skills",
    responses((status = 200, description = "The descriptor of each skill", body = Object)),
)]
pub(super) async fn discovery(State(front): State<Front>) -> Response {
    kept(front.skills.current().discovery(&front.public))
}

/// Describe one skill
#[utoipa::path(
    get,
    path = "/v1/skills/{skill_id}",
    tag = "skills",
    params(("skill_id" = String, Path, description = "As the list names it")),
    responses(
        (status = 200, description = "Its descriptor", body = Object),
        (status = 404, description = "There is no such skill", body = ProblemDocument),
    ),
)]
pub(super) async fn descriptor(
    State(front): State<Front>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let skills = front.skills.current();
    let id = id.parse().ok();
    let found = id.and_then(|id| skills.descriptor(&id, &front.public));
    found.map(kept).ok_or_else(|| {
        Problem::new(
            StatusCode::NOT_FOUND,
            ProblemCode::SkillNotFound,
            "there is no such skill: /.well-known/skill-sharing lists those that there are",
        )
    })
}

fn kept(document: Value) -> Response {
    ([(header::CACHE_CONTROL, FRESH_FOR)], Json(document)).into_response()
}
