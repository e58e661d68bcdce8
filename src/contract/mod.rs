//! What travels through the fleet, as values.
//!
//! Never: I/O, a clock, or a decision about what to do next. Whatever arrives here as bytes leaves
//! as a value that cannot be wrong, or as the list of everything that is wrong with it.

mod budget;
mod deadline;
mod delegation;
mod error;
mod event;
mod fingerprint;
mod headers;
mod ids;
mod json;
mod request;
mod result;
mod schema;
mod subject;
mod token;
mod violation;

pub use self::{
    budget::{Exhausted, Good, InvalidMicros, Limits, Micros, Spent},
    deadline::{DEFAULT_TIMEOUT, Deadline},
    delegation::{Ancestor, Ancestry, ChildPlace, ChildRequest, Delegation, Join, Step},
    error::{ErrorCode, IpcKind, ResultError},
    event::{Event, EventKind},
    fingerprint::Fingerprint,
    headers::Header,
    ids::{ActionName, CorrelationId, InvalidId, PurutoName, RequestId},
    json::{DEPTH_MAX, Parsed},
    request::{
        Draft, Hop, InvocationRequest, MintedIds, PROMPT_BYTES_MAX, Rejected, TimeoutSec,
        message_id,
    },
    result::{InvocationResult, Outcome},
    schema::{event_schema, request_schema, result_schema, token_schema},
    subject::{InvalidPrefix, Lane, Subjects},
    token::{Says, TokenMessage, True},
    violation::Violation,
};
