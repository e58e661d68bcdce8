//! Step one: an invocation is stored, and its caller told where to look for it.

use std::{net::SocketAddr, time::Duration};

use axum::{
    Extension, Json,
    body::Bytes,
    extract::{ConnectInfo, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use tokio::time::Instant;

use super::{
    documents::{ExecutionDocument, InvocationDocument, Showing},
    front::Front,
    order, prefer,
};
use crate::gateway::{
    auth::Presented,
    executions::{State as Standing, Unstarted},
    problem::{Problem, ProblemCode, ProblemDocument},
    server::Patience,
    skills::{Skills, filled},
};
use crate::store::executions::Execution;

/// When to ask for a status first.
pub(super) const ASK_AFTER: Duration = Duration::from_secs(1);

/// Invoke a skill
///
/// The execution goes on whatever becomes of the gateway. With `Prefer: wait=N` the answer is the
/// result where that comes within N seconds. With an `Idempotency-Key` the same request again is
/// the same execution.
#[utoipa::path(
    post,
    path = "/v1/invocations",
    tag = "executions",
    request_body(content = InvocationDocument, content_type = "application/json"),
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters",
            pattern = r"^[!-~]([ -~]{0,253}[!-~])?$"),
        ("Prefer" = Option<String>, Header, description = "`wait=N`: wait so many seconds for the result"),
    ),
    responses(
        (status = 200, description = "It ended while the caller waited", body = ExecutionDocument,
            headers(("Preference-Applied" = String, description = "How long was waited at most"))),
        (status = 202, description = "It is stored", body = ExecutionDocument,
            headers(("Location" = String, description = "Where its status is"),
                ("Retry-After" = u64, description = "When to ask, in seconds"))),
        (status = 400, description = "The body cannot be read", body = ProblemDocument),
        (status = 401, description = "It is not proven who asks", body = ProblemDocument),
        (status = 403, description = "Who asks may not", body = ProblemDocument),
        (status = 404, description = "There is no such skill", body = ProblemDocument),
        (status = 408, description = "The body did not arrive in time", body = ProblemDocument),
        (status = 409, description = "The key was used for another request", body = ProblemDocument),
        (status = 413, description = "The body is too large", body = ProblemDocument),
        (status = 415, description = "The body is no JSON", body = ProblemDocument),
        (status = 422, description = "The request is not as it should be", body = ProblemDocument),
        (status = 429, description = "The caller asked too much", body = ProblemDocument),
        (status = 503, description = "The fleet does not answer", body = ProblemDocument),
    ),
    security((), ("api_key" = []), ("oauth2" = ["skill:invoke"])),
)]
pub(super) async fn invoke(
    State(front): State<Front>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    patience: Option<Extension<Patience>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    let away = |problem| front.turned_away(problem, peer);
    let document = order::read(&headers, &body).map_err(away)?;
    let skills = front.skills.current();
    let (order, location) = {
        let skill = known(&skills, &document.skill_id).map_err(away)?;
        let key = document.caller.credentials.api_key.as_deref();
        let names = front.key_headers();
        let presented = Presented::new(&headers).looking_in(&names).with_key(key);
        let who = front
            .gate
            .admit(skill.auth(), &presented, skill.id().as_str())
            .await;
        let who = front.counted(who, peer)?;
        let location = skill.endpoints(&front.public).status_url;
        let order = order::order(&front, skill, who, document, &headers)?;
        (order, location)
    };
    let started = front.desk.start(order).await.map_err(unstarted)?;
    let execution = started.execution;
    let wait = prefer::wait(&headers, front.wait_max);
    let (state, waited) = match wait {
        Some(wait) => {
            if let Some(Extension(patience)) = patience {
                patience.allow(wait);
            }
            (awaited(&front, &execution, wait).await?, Some(wait))
        }
        None if started.repeated => (front.desk.state(&execution).await?, None),
        None => (Standing::ACCEPTED, None),
    };
    Ok(answer(&front, &execution, &state, &location, waited))
}

fn known<'s>(skills: &'s Skills, id: &str) -> Result<&'s crate::gateway::skills::Skill, Problem> {
    let skill = id.parse().ok().and_then(|id| skills.get(&id));
    skill.ok_or_else(|| {
        Problem::new(
            StatusCode::NOT_FOUND,
            ProblemCode::SkillNotFound,
            format!(
                "there is no skill {id:?}: /.well-known/skill-sharing lists those that there are"
            ),
        )
    })
}

async fn awaited(
    front: &Front,
    execution: &Execution,
    wait: Duration,
) -> Result<Standing, Problem> {
    let until = Instant::now() + wait;
    let watched = front.desk.watch(execution).await?;
    watched.end(until).await.map_err(|_gone| Problem::gone())
}

fn answer(
    front: &Front,
    execution: &Execution,
    state: &Standing,
    location: &str,
    waited: Option<Duration>,
) -> Response {
    let is_final = state.status().is_final();
    // Whoever waited wants the result; whoever did not asks for it by itself.
    let showing = if waited.is_some() {
        Showing::Result
    } else {
        Showing::Status
    };
    let status = if is_final && waited.is_some() {
        StatusCode::OK
    } else {
        StatusCode::ACCEPTED
    };
    let document = ExecutionDocument::of(front, execution, state, showing);
    let mut response = (status, Json(document)).into_response();
    let headers = response.headers_mut();
    let location = filled(location, &execution.key.request);
    if let Ok(location) = HeaderValue::try_from(location) {
        headers.insert(header::LOCATION, location);
    }
    if !is_final {
        headers.insert(header::RETRY_AFTER, ASK_AFTER.as_secs().into());
    }
    if let Some(waited) = waited {
        headers.insert(prefer::APPLIED, prefer::applied(waited));
    }
    response
}

fn unstarted(unstarted: Unstarted) -> Problem {
    match unstarted {
        Unstarted::Refused(error) => Problem::of_refusal(&error),
        Unstarted::Conflict => Problem::new(
            StatusCode::CONFLICT,
            ProblemCode::Conflict,
            "this Idempotency-Key was used for another request: use a fresh one",
        ),
        Unstarted::Fault(fault) => fault.into(),
    }
}
