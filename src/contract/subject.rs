//! The subjects of the fleet, and how an id becomes a token of one.

use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{CorrelationId, EventKind, Fingerprint, PurutoName, RequestId};

/// Everything outside `[A-Za-z0-9_-]` is encoded, so no id can leave its token.
const TOKEN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'-');

/// Longest token that holds an id as it is: two of them and the rest of a subject stay well under
/// the 4096 bytes after which a server closes the connection.
const TOKEN_BYTES_MAX: usize = 1_024;

/// How urgent a request is; a lane of its own for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Pulled first.
    High,
    /// `puruto.invoke.<target>` itself.
    #[default]
    Normal,
    /// Pulled last, but never starved.
    Low,
}

impl Lane {
    /// Every lane, most urgent first.
    pub const ALL: [Self; 3] = [Self::High, Self::Normal, Self::Low];

    /// The lane's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }
}

impl FromStr for Lane {
    type Err = UnknownLane;

    fn from_str(raw: &str) -> Result<Self, UnknownLane> {
        Self::ALL
            .into_iter()
            .find(|lane| lane.as_str() == raw)
            .ok_or(UnknownLane)
    }
}

/// A text that names no lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected high, normal or low")]
pub struct UnknownLane;

/// A prefix that cannot stand at the front of a subject.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("subject prefix must be tokens of [A-Za-z0-9_-] joined by dots, got {0:?}")]
pub struct InvalidPrefix(String);

/// The grammar of the fleet's subjects under one prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subjects {
    prefix: Box<str>,
}

impl Default for Subjects {
    fn default() -> Self {
        Self {
            prefix: "puruto".into(),
        }
    }
}

impl FromStr for Subjects {
    type Err = InvalidPrefix;

    fn from_str(raw: &str) -> Result<Self, InvalidPrefix> {
        let clean = |token: &str| {
            !token.is_empty() && utf8_percent_encode(token, TOKEN).to_string() == token
        };
        if raw.split('.').all(clean) {
            Ok(Self { prefix: raw.into() })
        } else {
            Err(InvalidPrefix(raw.to_owned()))
        }
    }
}

impl Subjects {
    /// The prefix itself.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Where requests for `target` are published: the plain subject for the normal lane, else the
    /// lane's name behind it.
    #[must_use]
    pub fn invoke(&self, target: &PurutoName, lane: Lane) -> String {
        match lane {
            Lane::Normal => format!("{}.invoke.{target}", self.prefix),
            Lane::High | Lane::Low => {
                format!("{}.invoke.{target}.{}", self.prefix, lane.as_str())
            }
        }
    }

    /// Everything that is published for any target.
    #[must_use]
    pub fn invoke_all(&self) -> String {
        format!("{}.invoke.>", self.prefix)
    }

    /// Target and lane of a subject under `invoke`, if it is one.
    #[must_use]
    pub fn parse_invoke(&self, subject: &str) -> Option<(PurutoName, Lane)> {
        let rest = subject
            .strip_prefix(self.prefix())?
            .strip_prefix(".invoke.")?;
        let (target, lane) = match rest.split_once('.') {
            None => (rest, Lane::Normal),
            Some((target, "high")) => (target, Lane::High),
            Some((target, "low")) => (target, Lane::Low),
            Some(_) => return None,
        };
        Some((target.parse().ok()?, lane))
    }

    /// The one place of a request's result.
    #[must_use]
    pub fn result(&self, correlation: &CorrelationId, request: &RequestId) -> String {
        let (correlation, request) = (token(correlation.as_str()), token(request.as_str()));
        format!("{}.result.{correlation}.{request}", self.prefix)
    }

    /// Where a result goes whose own place belongs to another request with the same ids.
    #[must_use]
    pub fn result_aside(
        &self,
        correlation: &CorrelationId,
        request: &RequestId,
        fingerprint: Fingerprint,
    ) -> String {
        format!("{}.{fingerprint}", self.result(correlation, request))
    }

    /// All results of one chain.
    #[must_use]
    pub fn results_of(&self, correlation: &CorrelationId) -> String {
        format!("{}.result.{}.>", self.prefix, token(correlation.as_str()))
    }

    /// The result of `request` in whatever chain it belongs to.
    #[must_use]
    pub fn result_in_any_chain(&self, request: &RequestId) -> String {
        format!("{}.result.*.{}", self.prefix, token(request.as_str()))
    }

    /// All results.
    #[must_use]
    pub fn results_all(&self) -> String {
        format!("{}.result.>", self.prefix)
    }

    /// Where an answer is told while it is being written.
    #[must_use]
    pub fn token(&self, correlation: &CorrelationId, request: &RequestId) -> String {
        let (correlation, request) = (token(correlation.as_str()), token(request.as_str()));
        format!("{}.token.{correlation}.{request}", self.prefix)
    }

    /// Where it is told that this happened to a request.
    #[must_use]
    pub fn event(
        &self,
        correlation: &CorrelationId,
        request: &RequestId,
        kind: EventKind,
    ) -> String {
        let (correlation, request) = (token(correlation.as_str()), token(request.as_str()));
        format!("{}.event.{correlation}.{request}.{kind}", self.prefix)
    }

    /// Everything that is told of one chain.
    #[must_use]
    pub fn events_of(&self, correlation: &CorrelationId) -> String {
        format!("{}.event.{}.>", self.prefix, token(correlation.as_str()))
    }

    /// Everything that is told of one request of a chain.
    #[must_use]
    pub fn events_in(&self, correlation: &CorrelationId, request: &RequestId) -> String {
        let (correlation, request) = (token(correlation.as_str()), token(request.as_str()));
        format!("{}.event.{correlation}.{request}.*", self.prefix)
    }

    /// Everything that is told of `request`, in whatever chain it belongs to.
    #[must_use]
    pub fn events_in_any_chain(&self, request: &RequestId) -> String {
        format!("{}.event.*.{}.*", self.prefix, token(request.as_str()))
    }

    /// Everything that is told.
    #[must_use]
    pub fn events_all(&self) -> String {
        format!("{}.event.>", self.prefix)
    }

    /// Where dead letters of `target` are kept; without one those that name no target.
    #[must_use]
    pub fn dead_letters(&self, target: Option<&PurutoName>) -> String {
        let target = target.map_or("unknown", PurutoName::as_str);
        format!("{}.dlq.{target}", self.prefix)
    }

    /// All dead letters.
    #[must_use]
    pub fn dead_letters_all(&self) -> String {
        format!("{}.dlq.>", self.prefix)
    }

    /// Where `target` is asked by whoever waits for the result as the reply.
    #[must_use]
    pub fn rpc(&self, target: &PurutoName) -> String {
        format!("{}.rpc.{target}", self.prefix)
    }

    /// Where a live session answers pings; `session` is its name, one clean token.
    #[must_use]
    pub fn control_session(&self, session: &str) -> String {
        format!("{}.control.session.{}", self.prefix, token(session))
    }

    /// Where a worker is told to drain.
    #[must_use]
    pub fn control_drain(&self, worker: &str) -> String {
        format!("{}.control.drain.{}", self.prefix, token(worker))
    }

    /// Where the cancel of a request is announced to the workers.
    #[must_use]
    pub fn control_cancel(&self) -> String {
        format!("{}.control.cancel", self.prefix)
    }
}

/// `id` as one token. An id too long for that is named by its hash, behind a `~` with which no
/// encoded id can begin.
fn token(id: &str) -> String {
    let encoded = utf8_percent_encode(id, TOKEN).to_string();
    if encoded.len() <= TOKEN_BYTES_MAX {
        encoded
    } else {
        format!("~{}", Fingerprint::of_bytes(id.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn subjects() -> Subjects {
        Subjects::default()
    }

    #[test]
    fn ordinary_ids_read_as_they_are() {
        let (correlation, request) = ("corr-1".parse().unwrap(), "req_1".parse().unwrap());
        assert_eq!(
            subjects().result(&correlation, &request),
            "puruto.result.corr-1.req_1"
        );
        assert_eq!(
            subjects().token(&correlation, &request),
            "puruto.token.corr-1.req_1"
        );
        assert_eq!(
            subjects().event(&correlation, &request, EventKind::Started),
            "puruto.event.corr-1.req_1.started"
        );
    }

    #[test]
    fn a_lane_is_a_token_behind_the_target() {
        let target: PurutoName = "puruto-echo".parse().unwrap();
        for lane in Lane::ALL {
            let subject = subjects().invoke(&target, lane);
            assert_eq!(
                subjects().parse_invoke(&subject),
                Some((target.clone(), lane))
            );
        }
        assert_eq!(
            subjects().invoke(&target, Lane::High),
            "puruto.invoke.puruto-echo.high"
        );
        for other in [
            "puruto.invoke.a.b",
            "puruto.invoke.",
            "other.invoke.a",
            "puruto.invoke.*",
        ] {
            assert_eq!(subjects().parse_invoke(other), None, "{other}");
        }
    }

    #[test]
    fn a_prefix_is_whole_tokens() {
        assert!("acme.puruto".parse::<Subjects>().is_ok());
        for bad in ["", ".", "a.", "a b", "a.*", "a.>"] {
            assert!(bad.parse::<Subjects>().is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn no_id_leaves_its_token_and_no_two_ids_share_one(
            one in "[^\\p{Cc}]{1,200}", other in "[^\\p{Cc}]{1,200}",
        ) {
            let correlation: CorrelationId = one.parse().unwrap();
            let subject = |id: &str| subjects().result(&correlation, &id.parse().unwrap());
            prop_assert_eq!(subject(&other).split('.').count(), 4);
            prop_assert!(subject(&other).len() < 2_200);
            prop_assert!(
                subject(&other).bytes().all(|b| b.is_ascii_alphanumeric() || b"._-%~".contains(&b))
            );
            prop_assert_eq!(subject(&one) == subject(&other), one == other);
        }
    }
}
