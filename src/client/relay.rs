//! Relays a request that somebody sent as a message and for which they wait: there is always a
//! result for them.

use super::{Client, ClientFault, Exchange, Invocation, Invoked, invocation::fresh_id};
use crate::{
    broker::Headers,
    clock::WallTime,
    contract::{
        CorrelationId, Draft, ErrorCode, Header, InvocationResult, IpcKind, Lane, Outcome,
        PurutoName, RequestId, ResultError, Violation,
    },
    store::Records,
    telemetry::propagation,
};

/// A message that was read: who asks for what, under which ids it is answered.
#[derive(Clone, Debug)]
pub struct Relayed {
    request: RequestId,
    correlation: CorrelationId,
    asked: Result<Invocation, ResultError>,
}

impl Relayed {
    /// An answer that no worker gave.
    #[must_use]
    pub fn answered(&self, error: ResultError) -> InvocationResult {
        InvocationResult {
            request_id: self.request.clone(),
            correlation_id: self.correlation.clone(),
            duration: std::time::Duration::ZERO,
            outcome: Outcome::Error(error),
        }
    }
}

impl<E: Exchange, R: Records> Client<E, R> {
    /// Reads a message to `target`. Ids that its author left out are made here.
    #[must_use]
    pub fn read_message(&self, target: &PurutoName, headers: &Headers, body: &[u8]) -> Relayed {
        let fresh = || fresh_id(&self.settings.clock, &self.settings.chance);
        let (request, correlation, asked) = match Draft::parse(body) {
            Ok(mut draft) => {
                let ids = (draft.request_id.take(), draft.correlation_id.take());
                (ids.0, ids.1, invocation(draft, target, headers))
            }
            Err(rejected) => {
                let error = ResultError::invalid_request(&rejected.violations);
                (rejected.request_id, rejected.correlation_id, Err(error))
            }
        };
        Relayed {
            request: request.unwrap_or_else(|| RequestId::from_uuid(fresh())),
            correlation: correlation.unwrap_or_else(|| CorrelationId::from_uuid(fresh())),
            asked,
        }
    }

    /// Asks, and waits for the result until the deadline and the grace beyond it.
    pub async fn relay(&self, relayed: &Relayed) -> InvocationResult {
        let asked = match &relayed.asked {
            Ok(invocation) => Invocation {
                request_id: Some(relayed.request.clone()),
                correlation_id: Some(relayed.correlation.clone()),
                ..invocation.clone()
            },
            Err(error) => return relayed.answered(error.clone()),
        };
        let answered = match self.invoke(asked).await {
            Ok(Invoked::Refused(result)) => Ok(result),
            Ok(Invoked::Pending(pending)) => pending.result().await,
            Err(fault) => Err(fault),
        };
        answered.unwrap_or_else(|fault| relayed.answered(unanswered(&fault)))
    }
}

/// What the message asks for.
fn invocation(
    draft: Draft,
    target: &PurutoName,
    headers: &Headers,
) -> Result<Invocation, ResultError> {
    if draft.target != *target {
        let message = format!(
            "the body names the target {} but was sent to the subject of {target}",
            draft.target
        );
        return Err(ResultError::new(ErrorCode::Denied, message));
    }
    let deadline = header(headers, Header::Deadline, "an RFC 3339 time", |text| {
        WallTime::parse_rfc3339(text)
    });
    let lane = header(headers, Header::Priority, "high, normal or low", |text| {
        text.parse::<Lane>().ok()
    });
    let invalid = |violation| ResultError::invalid_request(&[violation]);
    Ok(Invocation {
        timeout: draft.timeout_sec,
        hop: draft.hop,
        extra: draft.extra,
        deadline: deadline.map_err(invalid)?,
        lane: lane.map_err(invalid)?.unwrap_or_default(),
        trace: propagation::parent_of(|header| headers.get(header)),
        ..Invocation::new(draft.caller, draft.target, draft.action, draft.prompt)
    })
}

fn header<T>(
    headers: &Headers,
    header: Header,
    expected: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Violation> {
    let Some(text) = headers.get(header) else {
        return Ok(None);
    };
    let violation = || Violation::new(header.as_str(), expected, format_args!("{text:?}"));
    read(text).map(Some).ok_or_else(violation)
}

/// Whoever waits is told why there is no result; the request may be stored all the same.
fn unanswered(fault: &ClientFault) -> ResultError {
    ResultError::ipc(IpcKind::Internal, fault.to_string())
}
