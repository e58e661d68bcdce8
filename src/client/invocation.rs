//! What a caller asks, and what of it goes to the broker.

use bytes::Bytes;
use serde_json::{Map, Value};
use tracing::Span;
use uuid::Uuid;

use crate::{
    broker::Headers,
    clock::{Chance, Clock, WallTime},
    contract::{
        ActionName, CorrelationId, Fingerprint, Header, Hop, InvocationRequest, Lane, PurutoName,
        RequestId, Subjects, TimeoutSec, message_id,
    },
    store::RequestKey,
    telemetry::propagation::{self, TraceContext},
};

/// What a caller asks of a target.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// Who asks.
    pub caller: PurutoName,
    /// Who is asked.
    pub target: PurutoName,
    /// What it is asked to do.
    pub action: ActionName,
    /// The instruction.
    pub prompt: String,
    /// How long the caller is ready to wait; its policy decides when absent.
    pub timeout: Option<TimeoutSec>,
    /// A moment that shortens the deadline.
    pub deadline: Option<WallTime>,
    /// How deep in a chain of delegations it stands.
    pub hop: Hop,
    /// How urgent it is.
    pub lane: Lane,
    /// Its id; a fresh one when absent. The same id with the same content is the same request.
    pub request_id: Option<RequestId>,
    /// Its chain; a fresh one when absent.
    pub correlation_id: Option<CorrelationId>,
    /// Where the caller stands in a trace of its own.
    pub trace: TraceContext,
    /// Fields of the request that only its target knows.
    pub extra: Map<String, Value>,
}

impl Invocation {
    /// An invocation with nothing said beyond what has to be.
    #[must_use]
    pub fn new(
        caller: PurutoName,
        target: PurutoName,
        action: ActionName,
        prompt: impl Into<String>,
    ) -> Self {
        Self {
            caller,
            target,
            action,
            prompt: prompt.into(),
            timeout: None,
            deadline: None,
            hop: Hop::default(),
            lane: Lane::default(),
            request_id: None,
            correlation_id: None,
            trace: TraceContext::default(),
            extra: Map::new(),
        }
    }

    /// The request, its ids made where the caller gave none, and the headers beside it.
    pub(super) fn prepare(self, clock: &Clock, chance: &Chance) -> Prepared {
        let fresh = || fresh_id(clock, chance);
        let request = InvocationRequest {
            request_id: self
                .request_id
                .unwrap_or_else(|| RequestId::from_uuid(fresh())),
            correlation_id: self
                .correlation_id
                .unwrap_or_else(|| CorrelationId::from_uuid(fresh())),
            caller: self.caller,
            target: self.target,
            action: self.action,
            prompt: self.prompt,
            timeout_sec: self.timeout,
            hop: self.hop,
            extra: self.extra,
        };
        let fingerprint = request.fingerprint();
        let mut headers = Headers::new();
        let id = message_id(&request.request_id, &request.correlation_id, fingerprint);
        headers.push(Header::MessageId, &id);
        headers.push(Header::Priority, self.lane.as_str());
        if let Some(deadline) = self.deadline {
            headers.push(Header::Deadline, &deadline.to_string());
        }
        propagation::inject(&Span::current(), &self.trace, |header, value| {
            headers.push(header, value);
        });
        Prepared {
            request,
            fingerprint,
            lane: self.lane,
            deadline: self.deadline,
            headers,
        }
    }
}

/// A request that is ready to be published.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(super) request: InvocationRequest,
    pub(super) fingerprint: Fingerprint,
    pub(super) lane: Lane,
    pub(super) deadline: Option<WallTime>,
    pub(super) headers: Headers,
}

impl Prepared {
    /// The request, with its ids.
    #[must_use]
    pub const fn request(&self) -> &InvocationRequest {
        &self.request
    }

    /// What tells it from another request under the same id.
    #[must_use]
    pub const fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Its record's name.
    #[must_use]
    pub fn key(&self) -> RequestKey {
        RequestKey {
            target: self.request.target.clone(),
            request: self.request.request_id.clone(),
        }
    }

    pub(super) fn subject(&self, subjects: &Subjects) -> String {
        subjects.invoke(&self.request.target, self.lane)
    }

    pub(super) fn body(&self) -> Bytes {
        self.request.to_json().into()
    }
}

/// A UUIDv7: sorted by time, else chance.
pub(super) fn fresh_id(clock: &Clock, chance: &Chance) -> Uuid {
    let [chance @ .., _, _, _, _, _, _] = chance.bits128().to_be_bytes();
    uuid::Builder::from_unix_timestamp_millis(clock.now().unix_millis(), &chance).into_uuid()
}
