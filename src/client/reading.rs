//! Which message answers a request, decided without I/O.

use crate::{
    broker::{Headers, ResultMessage},
    contract::{
        CorrelationId, Fingerprint, Header, InvocationResult, IpcKind, Outcome, RequestId,
        ResultError, Subjects,
    },
};

use super::ClientFault;

/// What a waiting caller knows of its request.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) request: RequestId,
    pub(super) correlation: CorrelationId,
    fingerprint: Fingerprint,
    /// Where the result stands.
    pub(super) place: String,
    /// Where it stands when the place belongs to another request with the same ids.
    pub(super) aside: String,
}

/// What a message is to the one who waits.
#[derive(Debug)]
pub(super) enum Seen {
    /// The answer.
    Answer(InvocationResult),
    /// The result of another request with the same ids: ours will stand aside.
    Foreign,
    /// None of our business, such as the result of another request of the chain.
    Other,
}

impl Asked {
    pub(super) fn new(
        request: RequestId,
        correlation: CorrelationId,
        fingerprint: Fingerprint,
        subjects: &Subjects,
    ) -> Self {
        Self {
            place: subjects.result(&correlation, &request),
            aside: subjects.result_aside(&correlation, &request, fingerprint),
            request,
            correlation,
            fingerprint,
        }
    }

    /// What `message` is to us.
    pub(super) fn see(&self, message: &ResultMessage) -> Result<Seen, ClientFault> {
        let ResultMessage {
            subject,
            headers,
            body,
        } = message;
        if *subject == self.aside {
            return read(subject, body).map(Seen::Answer);
        }
        if *subject != self.place {
            return Ok(Seen::Other);
        }
        if self.is_foreign(headers) {
            return Ok(Seen::Foreign);
        }
        read(subject, body).map(Seen::Answer)
    }

    /// A result that names no fingerprint is taken for ours: a program that is no worker of ours
    /// put it there on purpose.
    fn is_foreign(&self, headers: &Headers) -> bool {
        let named = headers.get(Header::Fingerprint);
        named.is_some_and(|it| it.parse() != Ok(self.fingerprint))
    }

    /// What is reported when the place is another request's and nothing stands aside.
    pub(super) fn conflict(&self) -> InvocationResult {
        let message = format!(
            "request id {} came before with another payload: use a fresh id",
            self.request
        );
        self.answered(ResultError::ipc(IpcKind::RequestIdConflict, message))
    }

    /// An answer that no worker gave.
    pub(super) fn answered(&self, error: ResultError) -> InvocationResult {
        InvocationResult {
            request_id: self.request.clone(),
            correlation_id: self.correlation.clone(),
            duration: std::time::Duration::ZERO,
            outcome: Outcome::Error(error),
        }
    }
}

/// A message's body as a result.
pub(super) fn read(subject: &str, body: &[u8]) -> Result<InvocationResult, ClientFault> {
    serde_json::from_slice(body).map_err(|error| ClientFault::Unreadable {
        subject: subject.to_owned(),
        reason: error.to_string(),
    })
}
