//! The values that the metrics' labels can take, as closed enums.
//!
//! Never: a label whose values nobody has listed; those are folded, see `metrics`.

use std::fmt;

/// A label whose values are all known.
pub trait Label: Copy + fmt::Debug + 'static {
    /// Every value, in the order of [`Label::index`].
    const ALL: &'static [Self];

    /// The value as scraped.
    fn text(self) -> &'static str;

    /// Where the value stands in [`Label::ALL`].
    fn index(self) -> usize;
}

macro_rules! labels {
    ($($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident => $text:literal,)+ })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$value_doc])* $value,)+ }

        impl Label for $name {
            const ALL: &'static [Self] = &[$(Self::$value),+];

            fn text(self) -> &'static str {
                match self { $(Self::$value => $text,)+ }
            }

            fn index(self) -> usize {
                self as usize
            }
        }
    )+};
}

labels! {
    /// What the store answered to a claim.
    ClaimOutcome {
        /// The request is ours to run.
        Claimed => "claimed",
        /// Another live session runs it.
        Held => "held",
        /// Its result is committed.
        Done => "done",
        /// It was cancelled before anyone ran it.
        Cancelled => "cancelled",
        /// Its workers died too often.
        Exhausted => "exhausted",
        /// The id is taken by a request of another payload.
        Conflict => "conflict",
    }

    /// What the store answered to a commit.
    CommitOutcome {
        /// The result stands.
        Committed => "committed",
        /// The claim is no longer ours.
        Lost => "lost",
        /// A result stood already.
        Done => "done",
    }

    /// What the broker answered to a published result.
    PublishOutcome {
        /// Stored.
        Stored => "stored",
        /// The same bytes stood already.
        AlreadyThere => "already_there",
        /// Other bytes stood already; they win.
        Differs => "differs",
        /// Not stored, or not known to be.
        Failed => "failed",
    }

    /// How a delivery was settled.
    SettlementKind {
        /// Done with: removed from the stream.
        Ack => "ack",
        /// Given back, to be delivered again.
        Nak => "nak",
        /// Never to be delivered again.
        Term => "term",
    }

    /// How a request ended: its result's status, and with `error` its code.
    Finished {
        /// With a result.
        Ok => "",
        /// No such Puruto, or nobody serves it.
        TargetNotFound => "TARGET_NOT_FOUND",
        /// The policy said no.
        Denied => "DENIED",
        /// The deadline passed.
        Timeout => "TIMEOUT",
        /// The answer broke the output contract.
        InvalidResponse => "INVALID_RESPONSE",
        /// Anything else that failed.
        IpcError => "IPC_ERROR",
        /// Cancelled.
        Cancelled => "CANCELLED",
        /// The run's budget was used up.
        BudgetExhausted => "BUDGET_EXHAUSTED",
    }

    /// What came of a renewal of the session.
    RenewalOutcome {
        /// The session lives on.
        Renewed => "renewed",
        /// The store no longer knows the session: fenced.
        Refused => "refused",
        /// The store did not answer.
        Failed => "failed",
    }

    /// Why a call to the store failed.
    StoreFault {
        /// No answer in time; the command may still be executed.
        Timeout => "timeout",
        /// No connection, or it broke.
        Connection => "connection",
        /// The node is a replica.
        ReadOnly => "readonly",
        /// The node is reading its data set.
        Loading => "loading",
        /// The node is out of memory.
        OutOfMemory => "oom",
        /// The node answered what nobody expects.
        Other => "other",
    }

    /// Why a call to the broker failed.
    BrokerFault {
        /// No answer in time; it may still take effect.
        Timeout => "timeout",
        /// No connection, or it broke.
        Connection => "connection",
        /// Nobody serves the subject: no stream, no consumer.
        NoResponders => "no_responders",
        /// The broker said no.
        Refused => "refused",
        /// The broker answered what nobody expects.
        Other => "other",
    }

    /// What came of reading a changed policy file.
    ReloadOutcome {
        /// The new policy holds.
        Loaded => "loaded",
        /// The new file is broken: the old policy holds on.
        Kept => "kept",
    }

    /// Whether a model call succeeded.
    RequestStatus {
        /// It gave an answer that keeps the output contract.
        Ok => "ok",
        /// It did not.
        Error => "error",
    }

    /// What the output contract says of an answer.
    ValidationResult {
        /// It keeps the contract.
        Valid => "valid",
        /// It breaks it.
        Invalid => "invalid",
    }

    /// Where a circuit breaker stands.
    BreakerState {
        /// Calls pass.
        Closed => "closed",
        /// Calls fail fast.
        Open => "open",
        /// A few probes pass.
        HalfOpen => "half_open",
    }
}

impl Finished {
    /// The result's status, `ok` or `error`.
    #[must_use]
    pub const fn status(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::TargetNotFound
            | Self::Denied
            | Self::Timeout
            | Self::InvalidResponse
            | Self::IpcError
            | Self::Cancelled
            | Self::BudgetExhausted => "error",
        }
    }
}

impl BreakerState {
    /// The gauge's reading: closed 0, open 1, half-open 2.
    #[must_use]
    pub const fn reading(self) -> i64 {
        match self {
            Self::Closed => 0,
            Self::Open => 1,
            Self::HalfOpen => 2,
        }
    }
}
