//! Why a call on a link had no reply.

use std::time::Duration;

use super::super::BrokerFault;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// The server says that nobody listens under the subject.
    NoResponders,
    /// No reply within the bound; it may still have happened.
    TimedOut { after: Duration },
    /// There is no connection at present; it may still have happened.
    Unreachable { address: String, reason: String },
    /// The server refused the subject for want of a permission.
    Denied(String),
    /// Larger than the server takes; not sent.
    TooLarge { bytes: usize, limit: usize },
    /// No subject; not sent.
    BadSubject,
}

impl Unanswered {
    pub(super) fn into_fault(self, operation: &'static str) -> BrokerFault {
        let refused = |reason: String| BrokerFault::Refused {
            operation,
            reason,
            code: None,
        };
        match self {
            Self::NoResponders => refused(
                "nobody answers: is JetStream enabled, and does the stream exist?".to_owned(),
            ),
            Self::TimedOut { after } => BrokerFault::TimedOut { operation, after },
            Self::Unreachable { address, reason } => BrokerFault::Unreachable { address, reason },
            Self::Denied(reason) => BrokerFault::Denied { operation, reason },
            Self::TooLarge { bytes, limit } => BrokerFault::TooLarge { bytes, limit },
            Self::BadSubject => refused("the subject is not one".to_owned()),
        }
    }
}
