//! The names of the headers that travel with requests and results.

use std::fmt;

/// A header of a request or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Header {
    /// The broker's deduplication id of a publish.
    MessageId,
    /// The broker refuses the publish unless the subject's last message has this sequence.
    ExpectedLastSubjectSequence,
    /// W3C trace context.
    TraceParent,
    /// W3C trace state.
    TraceState,
    /// RFC 3339; can only shorten the deadline.
    Deadline,
    /// The request that delegated this one.
    Parent,
    /// The chain of requests above this one.
    Ancestry,
    /// `high`, `normal` or `low`.
    Priority,
    /// An inbox that gets the result as well.
    ReplyTo,
    /// On a result: `ok` or `error`.
    Status,
    /// On a result: who was asked.
    Target,
    /// On a result: who asked.
    Caller,
    /// On a result: what for.
    Action,
    /// On a result: how many executions it took.
    Attempt,
    /// On a result: the worker that committed it.
    Worker,
    /// On a result: the fingerprint of the request that it answers.
    Fingerprint,
}

impl Header {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MessageId => "Nats-Msg-Id",
            Self::ExpectedLastSubjectSequence => "Nats-Expected-Last-Subject-Sequence",
            Self::TraceParent => "traceparent",
            Self::TraceState => "tracestate",
            Self::Deadline => "Puruto-Deadline",
            Self::Parent => "Puruto-Parent",
            Self::Ancestry => "Puruto-Ancestry",
            Self::Priority => "Puruto-Priority",
            Self::ReplyTo => "Puruto-Reply-To",
            Self::Status => "Puruto-Status",
            Self::Target => "Puruto-Target",
            Self::Caller => "Puruto-Caller",
            Self::Action => "Puruto-Action",
            Self::Attempt => "Puruto-Attempt",
            Self::Worker => "Puruto-Worker",
            Self::Fingerprint => "Puruto-Fingerprint",
        }
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
