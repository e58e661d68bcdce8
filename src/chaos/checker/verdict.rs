//! What a history comes to.

use std::fmt;

use super::Figures;
use crate::contract::RequestId;

/// What was broken; the letters are those of the design's invariants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// S1: at most one committed result a request.
    CommittedTwice,
    /// S2: a commit carries the nonce of the current claim.
    CommittedUnderAnOldClaim,
    /// S3: what is published is what was committed.
    PublishedOtherBytes,
    /// S4: a message leaves the stream answered, or recorded as dead.
    LeftUnanswered,
    /// S5: nothing starts after the end.
    StartedAfterTheEnd,
    /// S6: a terminal state never changes.
    AnswerChanged,
    /// S7: hop and ancestry are those that the fleet wrote down.
    OriginMadeUp,
    /// S8: the id of a child is the function of its place.
    ChildIdWrong,
    /// S9: who waits holds neither a claim nor a slot.
    WaitHolds,
    /// S10: descendants, levels, attempts and bytes are bounded.
    TooMuch,
    /// S11: no secret anywhere.
    Leaked,
    /// L1: a request is gone without a result.
    Lost,
    /// L1: a request, or another message, is still in the stream.
    Stuck,
    /// L1: a result came long after it was due.
    Late,
    /// L1: a request ended as it should not have.
    WrongAnswer,
    /// L2: a parent does not go on although enough of its children have ended.
    NotWoken,
    /// L3: a dead session still owns something.
    HeldByTheDead,
    /// L4: a committed result was never published.
    NeverPublished,
    /// L5: a cancelled request ended in another way.
    CancelIgnored,
    /// L5: a delegated request runs on although nobody wants it any more.
    LeftRunning,
    /// More executions than one, and one for each fault that it felt.
    TooManyExecutions,
}

impl Rule {
    /// What it is called in a verdict.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CommittedTwice => "S1 committed twice",
            Self::CommittedUnderAnOldClaim => "S2 committed under an old claim",
            Self::PublishedOtherBytes => "S3 published what was not committed",
            Self::LeftUnanswered => "S4 acked before it was answered",
            Self::StartedAfterTheEnd => "S5 started after its end",
            Self::AnswerChanged => "S6 the answer changed",
            Self::OriginMadeUp => "S7 an origin was made up",
            Self::ChildIdWrong => "S8 a child's id is not its place's",
            Self::WaitHolds => "S9 a wait holds something",
            Self::TooMuch => "S10 more than the bounds allow",
            Self::Leaked => "S11 a secret leaked",
            Self::Lost => "L1 lost",
            Self::Stuck => "L1 stuck",
            Self::Late => "L1 late",
            Self::WrongAnswer => "L1 wrong answer",
            Self::NotWoken => "L2 not woken",
            Self::HeldByTheDead => "L3 held by a dead session",
            Self::NeverPublished => "L4 never published",
            Self::CancelIgnored => "L5 cancel ignored",
            Self::LeftRunning => "L5 left running",
            Self::TooManyExecutions => "more executions than faults explain",
        }
    }
}

/// One breach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Of what.
    pub rule: Rule,
    /// By which request, where it is one request's.
    pub request: Option<RequestId>,
    /// What was seen, for a person.
    pub told: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.request {
            Some(request) => write!(f, "{}: {request}: {}", self.rule.name(), self.told),
            None => write!(f, "{}: {}", self.rule.name(), self.told),
        }
    }
}

/// What a history comes to.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Every breach; none when all invariants held.
    pub violations: Vec<Violation>,
    /// What it cost.
    pub figures: Figures,
}

impl Verdict {
    /// Whether every invariant held.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.violations.is_empty()
    }

    /// How often one rule was broken.
    #[must_use]
    pub fn count(&self, rule: Rule) -> usize {
        self.violations.iter().filter(|it| it.rule == rule).count()
    }
}
