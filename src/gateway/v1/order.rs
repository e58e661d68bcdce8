//! An invocation's document, read: everything that is wrong with it at once.

use std::sync::LazyLock;

use axum::http::{HeaderMap, StatusCode, header};
use serde::Deserialize as _;
use serde_json::{Value, json};
use utoipa::PartialSchema as _;

use super::{
    documents::{InvocationDocument, PriorityWord},
    front::Front,
};
use crate::{
    client::Invocation,
    contract::{Lane, Parsed, Violation},
    gateway::{
        Principal,
        executions::{IdempotencyKey, Order},
        problem::{Problem, ProblemCode},
        skills::{Skill, timeout_of_millis},
    },
    runtime::contract::AnswerSchema,
    telemetry::propagation,
};

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The schema of the document, as the description of this door publishes it.
static SCHEMA: LazyLock<AnswerSchema> = LazyLock::new(|| {
    let written = serde_json::to_value(InvocationDocument::schema())
        .expect("a schema has only string keys and finite numbers");
    AnswerSchema::compile(written).expect("the schema of our own document is one")
});

/// Reads a body.
pub(super) fn read(headers: &HeaderMap, body: &[u8]) -> Result<InvocationDocument, Problem> {
    if !is_json(headers) {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            ProblemCode::UnsupportedMediaType,
            "the body has to be JSON: send it as `Content-Type: application/json`",
        ));
    }
    let Parsed {
        value,
        mut violations,
    } = Parsed::from_slice(body).map_err(unreadable)?;
    violations.extend(SCHEMA.violations_in("$", &value));
    if !violations.is_empty() {
        return Err(Problem::invalid(violations));
    }
    let read = InvocationDocument::deserialize(value);
    read.map_err(|error| Problem::invalid(vec![Violation::new("$", "an invocation", error)]))
}

/// Nothing of the document can be read at all.
fn unreadable(violation: Violation) -> Problem {
    Problem::new(
        StatusCode::BAD_REQUEST,
        ProblemCode::ValidationError,
        format!("the body cannot be read: {violation}"),
    )
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = headers.get(header::CONTENT_TYPE) else {
        return true;
    };
    let essence = kind.to_str().ok().and_then(|it| it.split(';').next());
    let essence = essence.unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// The key under which the same request is the same execution, if the caller gives one.
pub(super) fn idempotency(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, Problem> {
    let mut given = headers.get_all(IDEMPOTENCY_KEY).iter();
    let (first, second) = (given.next(), given.next());
    let Some(value) = first else {
        return Ok(None);
    };
    let key = value.to_str().ok().and_then(IdempotencyKey::new);
    match (key, second) {
        (Some(key), None) => Ok(Some(key)),
        _ => Err(Problem::invalid(vec![Violation::new(
            "Idempotency-Key",
            IdempotencyKey::EXPECTED,
            "something else",
        )])),
    }
}

/// What `who` asks of `skill`.
pub(super) fn order(
    front: &Front,
    skill: &Skill,
    who: Principal,
    document: InvocationDocument,
    headers: &HeaderMap,
) -> Result<Order, Problem> {
    let InvocationDocument {
        caller,
        inputs,
        context,
        ..
    } = document;
    let inputs = Value::Object(inputs);
    skill.check_inputs(&inputs).map_err(Problem::invalid)?;
    let unsaid = |error| Violation::new("inputs", "what the skill's prompt can be made of", error);
    let prompt = skill.prompt(&inputs);
    let prompt = prompt.map_err(|error| Problem::invalid(vec![unsaid(error)]))?;
    let mut invocation = Invocation::new(
        front.caller.clone(),
        skill.target().clone(),
        skill.action().clone(),
        prompt,
    );
    invocation.timeout = match context.timeout_ms {
        Some(millis) => timeout_of_millis(millis),
        None => skill.timeout(),
    };
    invocation.lane = context.priority.map_or_else(|| skill.lane(), lane);
    invocation.correlation_id = match context.trace_id.as_deref().map(str::parse) {
        Some(parsed) => Some(parsed.map_err(|error| {
            Problem::invalid(vec![Violation::new("context.trace_id", "an id", error)])
        })?),
        None => None,
    };
    invocation.trace =
        propagation::parent_of(|name| headers.get(name.as_str()).and_then(|it| it.to_str().ok()));
    for (key, value) in [
        ("skill_id", json!(skill.id().as_str())),
        ("inputs", inputs),
        (
            "on_behalf_of",
            json!({ "id": caller.id, "type": caller.r#type }),
        ),
    ] {
        invocation.extra.insert(key.to_owned(), value);
    }
    Ok(Order {
        who,
        caller: caller.id.into(),
        skill: skill.id().as_str().into(),
        invocation,
        idempotency: idempotency(headers)?,
    })
}

const fn lane(word: PriorityWord) -> Lane {
    match word {
        PriorityWord::Low => Lane::Low,
        PriorityWord::Normal => Lane::Normal,
        PriorityWord::High => Lane::High,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_an_integer_however_that_is_written() {
        for (written, millis) in [
            ("30000", Some(30_000)),
            ("30000.0", Some(30_000)),
            ("3e4", Some(30_000)),
            ("1.5", None),
            ("0.0", None),
            ("-1.0", None),
        ] {
            let body = format!(
                r#"{{"caller": {{"id": "a", "type": "ifay"}}, "skill_id": "s", "inputs": {{}},
                    "context": {{"timeout_ms": {written}}}}}"#
            );
            let read = read(&HeaderMap::new(), body.as_bytes());
            let read = read.ok().and_then(|it| it.context.timeout_ms);
            assert_eq!(read, millis, "{written}");
        }
    }
}
