//! Where messages lie that no worker may be there for. Pure.

use super::{end::READ_MAX, watch::Mark};
use crate::{
    broker::SubjectCount,
    clock::WallTime,
    contract::{Lane, PurutoName, Subjects},
};

/// Where the messages of one subject lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a lane of a target.
    Lane(PurutoName, Lane),
    /// Below a target, where no lane is.
    Beside(PurutoName),
    /// Under no name that a target could have.
    Nowhere,
}

/// A subject with messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) subject: Box<str>,
    pub(super) place: Place,
    pub(super) messages: u64,
}

/// A lane whose requests have to be ended in time, since no worker may pull them before.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) lane: Waiting,
    pub(super) target: PurutoName,
    pub(super) reach: Reach,
}

/// Which requests of a lane are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// All: nobody is there for any of them.
    All,
    /// Those that the lane's workers, who are busy, have not been given.
    Queued {
        /// Up to this sequence they were given.
        given: u64,
        /// How many were not.
        waiting: u64,
        /// Those that were stored later may be given any moment.
        stored_before: WallTime,
    },
}

impl Kept {
    /// What changes when anything new lies in the lane.
    pub(super) const fn mark(&self) -> Mark {
        match self.reach {
            Reach::All => Mark {
                waiting: self.lane.messages,
                given: 0,
            },
            Reach::Queued { given, waiting, .. } => Mark { waiting, given },
        }
    }
}

impl Reach {
    /// Where reading begins that has come to `unread`.
    pub(super) fn first(self, unread: u64) -> u64 {
        match self {
            Self::All => unread,
            Self::Queued { given, .. } => unread.max(given.saturating_add(1)),
        }
    }

    pub(super) const fn has(self, sequence: u64) -> bool {
        match self {
            Self::All => true,
            Self::Queued { given, .. } => sequence > given,
        }
    }

    pub(super) fn is_old(self, stored_at: WallTime) -> bool {
        match self {
            Self::All => true,
            Self::Queued { stored_before, .. } => stored_at < stored_before,
        }
    }

    /// How many messages one look reads at most. Those that wait for a busy worker are many when it
    /// is busiest, and must not keep the broker from it.
    pub(super) const fn read_max(self) -> u64 {
        match self {
            Self::All => READ_MAX,
            Self::Queued { .. } => READ_MAX / 4,
        }
    }
}

impl Waiting {
    pub(super) fn of(count: SubjectCount, subjects: &Subjects) -> Self {
        Self {
            place: Place::of(&count.subject, subjects),
            subject: count.subject,
            messages: count.messages,
        }
    }

    /// Whose messages they are, if anybody's.
    pub(super) const fn target(&self) -> Option<&PurutoName> {
        match &self.place {
            Place::Lane(target, _) | Place::Beside(target) => Some(target),
            Place::Nowhere => None,
        }
    }

    /// How urgent.
    pub(super) const fn lane(&self) -> Lane {
        match self.place {
            Place::Lane(_, lane) => lane,
            Place::Beside(_) | Place::Nowhere => Lane::Normal,
        }
    }

    /// Whether [`Waiting::filter`] finds these messages and no others.
    pub(super) fn has_filter_of_its_own(&self) -> bool {
        let filter = self.filter();
        *filter == *self.subject && !filter.split('.').any(|token| token == "*")
    }

    /// A filter under which the subject's messages lie, alone if possible: what cannot be asked for
    /// as it is, or would be taken for a wildcard, is asked for by one.
    pub(super) fn filter(&self) -> String {
        let plain = |token: &str| token.bytes().all(|byte| byte.is_ascii_graphic());
        let tokens = self.subject.split('.').map(|token| match token {
            ">" => "*",
            token if plain(token) => token,
            _ => "*",
        });
        tokens.collect::<Vec<_>>().join(".")
    }
}

impl Place {
    fn of(subject: &str, subjects: &Subjects) -> Self {
        if let Some((target, lane)) = subjects.parse_invoke(subject) {
            return Self::Lane(target, lane);
        }
        let rest = subject.strip_prefix(subjects.prefix());
        let rest = rest.and_then(|it| it.strip_prefix(".invoke."));
        let first = rest.and_then(|it| it.split('.').next());
        match first.and_then(|it| it.parse().ok()) {
            Some(target) => Self::Beside(target),
            None => Self::Nowhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(subject: &str) -> Waiting {
        let subject = subject.into();
        let messages = 1;
        Waiting::of(SubjectCount { subject, messages }, &Subjects::default())
    }

    #[test]
    fn a_message_lies_in_a_lane_beside_one_or_nowhere() {
        let echo: PurutoName = "echo".parse().unwrap();
        for (subject, place) in [
            (
                "puruto.invoke.echo",
                Place::Lane(echo.clone(), Lane::Normal),
            ),
            (
                "puruto.invoke.echo.low",
                Place::Lane(echo.clone(), Lane::Low),
            ),
            ("puruto.invoke.echo.urgent", Place::Beside(echo.clone())),
            ("puruto.invoke.echo.high.1", Place::Beside(echo)),
            ("puruto.invoke.caf\u{e9}", Place::Nowhere),
            ("puruto.invoke.>", Place::Nowhere),
        ] {
            assert_eq!(waiting(subject).place, place, "{subject}");
        }
    }

    #[test]
    fn it_is_asked_for_by_its_own_subject_wherever_that_can_be_said() {
        for (subject, filter) in [
            ("puruto.invoke.echo.low", "puruto.invoke.echo.low"),
            ("puruto.invoke.a+b", "puruto.invoke.a+b"),
            ("puruto.invoke.\u{fffd}.low", "puruto.invoke.*.low"),
            ("puruto.invoke.a.>", "puruto.invoke.a.*"),
        ] {
            assert_eq!(waiting(subject).filter(), filter);
        }
    }
}
