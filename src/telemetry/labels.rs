//! The values that the metrics' labels can take, as closed enums.
//!
//! Never: a label whose values nobody has listed; those are folded, see `metrics`.

use std::fmt;

use crate::{
    broker::DeadReason,
    contract::ErrorCode,
    runtime::observe::{CallStatus, Validation},
    store::{ClaimAnswer, CommitAnswer, Renewal, StoreFault},
};

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
        /// The request is ours to answer as poisoned: its workers died with it.
        Exhausted => "exhausted",
        /// A live session owns it.
        Held => "held",
        /// It waits for others, and nobody is to run it yet.
        Waiting => "waiting",
        /// It has its result.
        Done => "done",
        /// The same id came before with another payload.
        Conflict => "conflict",
        /// Our own session is gone.
        Fenced => "fenced",
    }

    /// What the store answered to a commit.
    CommitOutcome {
        /// The result stands.
        Committed => "committed",
        /// The claim is no longer ours.
        Lost => "lost",
        /// Only a cancelled result is taken.
        Cancelled => "cancelled",
    }

    /// What became of publishing a result.
    PublishOutcome {
        /// It was stored now.
        Stored => "stored",
        /// The same bytes stood there already.
        AlreadyThere => "already_there",
        /// Other bytes stood there already; they win.
        Differs => "differs",
        /// It was not stored, or nobody knows.
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

    /// What came of a renewal of the session.
    RenewalOutcome {
        /// The session lives on.
        Renewed => "renewed",
        /// The session is gone: its claims are void.
        Fenced => "fenced",
        /// The store did not answer.
        Failed => "failed",
    }

    /// How a session was found to be dead.
    EvictionReason {
        /// It was not renewed within its time to live.
        Expired => "expired",
        /// The broker knows of no connection that listens for it.
        NoResponders => "no_responders",
    }

    /// Why a request was ended that no worker pulled.
    UnservedEnd {
        /// Its target never had a worker.
        NotFound => "not_found",
        /// Its deadline passed while the workers of its target were away.
        Late => "late",
        /// It had its result or was cancelled, and the workers of its target are away.
        Settled => "settled",
        /// It waited for others, and was cancelled or its deadline passed.
        Waited => "waited",
    }

    /// Why a lane's consumer was made anew.
    LaneAilment {
        /// It had delivered the messages there too often to deliver them again.
        Stranded => "stranded",
        /// It stood beyond the end of its stream.
        Ahead => "ahead",
    }

    /// What came of reading a changed policy file.
    ReloadOutcome {
        /// The new policy holds.
        Loaded => "loaded",
        /// The new file is broken: the old policy holds on.
        Kept => "kept",
    }
}

impl From<&ClaimAnswer> for ClaimOutcome {
    fn from(answer: &ClaimAnswer) -> Self {
        match answer {
            ClaimAnswer::Claimed(_) => Self::Claimed,
            ClaimAnswer::Exhausted(_) => Self::Exhausted,
            ClaimAnswer::Held(_) => Self::Held,
            ClaimAnswer::Waiting => Self::Waiting,
            ClaimAnswer::Done { .. } => Self::Done,
            ClaimAnswer::Conflict { .. } => Self::Conflict,
            ClaimAnswer::Fenced => Self::Fenced,
        }
    }
}

impl From<&CommitAnswer> for CommitOutcome {
    fn from(answer: &CommitAnswer) -> Self {
        match answer {
            CommitAnswer::Committed => Self::Committed,
            CommitAnswer::Lost => Self::Lost,
            CommitAnswer::Cancelled => Self::Cancelled,
        }
    }
}

impl From<&Result<Renewal, StoreFault>> for RenewalOutcome {
    fn from(answer: &Result<Renewal, StoreFault>) -> Self {
        match answer {
            Ok(Renewal::Renewed { .. }) => Self::Renewed,
            Ok(Renewal::Fenced) => Self::Fenced,
            Err(_) => Self::Failed,
        }
    }
}

impl Label for ErrorCode {
    const ALL: &'static [Self] = &[
        Self::TargetNotFound,
        Self::Denied,
        Self::Timeout,
        Self::InvalidResponse,
        Self::IpcError,
        Self::Cancelled,
        Self::BudgetExhausted,
    ];

    fn text(self) -> &'static str {
        self.as_str()
    }

    fn index(self) -> usize {
        self as usize
    }
}

impl Label for DeadReason {
    const ALL: &'static [Self] = &Self::ALL;

    fn text(self) -> &'static str {
        self.as_str()
    }

    fn index(self) -> usize {
        self as usize
    }
}

impl Label for CallStatus {
    const ALL: &'static [Self] = &[Self::Ok, Self::Error];

    fn text(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
        }
    }

    fn index(self) -> usize {
        self as usize
    }
}

impl Label for Validation {
    const ALL: &'static [Self] = &[Self::Valid, Self::Invalid];

    fn text(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Invalid => "invalid",
        }
    }

    fn index(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_value_stands_at_its_index<L: Label>() {
        for (at, value) in L::ALL.iter().enumerate() {
            assert_eq!(value.index(), at, "{value:?}");
        }
    }

    #[test]
    fn the_labels_of_other_modules_are_complete_and_in_order() {
        every_value_stands_at_its_index::<ErrorCode>();
        every_value_stands_at_its_index::<DeadReason>();
        every_value_stands_at_its_index::<CallStatus>();
        every_value_stands_at_its_index::<Validation>();
        // The last ones as declared: none is left out.
        assert_eq!(ErrorCode::ALL.last(), Some(&ErrorCode::BudgetExhausted));
        assert_eq!(CallStatus::ALL.last(), Some(&CallStatus::Error));
        assert_eq!(Validation::ALL.last(), Some(&Validation::Invalid));
    }
}
