//! Where messages lie that no worker may be there for. Pure.

use crate::{
    broker::SubjectCount,
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
