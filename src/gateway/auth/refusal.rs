//! Why somebody is not let in, in words for people.
//!
//! Never: a credential, or a word that would tell a guess from a good one.

use std::{fmt, time::Duration};

use axum::http::{HeaderName, HeaderValue};

use super::scheme::Scope;

const REALM: &str = "puruto";

/// What to answer whoever is not let in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is not proven who asks: 401.
    #[error("{why}")]
    AuthRequired {
        /// What to do about it.
        why: String,
        /// The value of `WWW-Authenticate`.
        challenge: HeaderValue,
    },
    /// Who asks may not: 403.
    #[error("{why}")]
    Denied {
        /// What was not allowed.
        why: String,
        /// The value of `WWW-Authenticate`, where another token would do.
        challenge: Option<HeaderValue>,
    },
    /// Nobody can say who asks at the moment: 503.
    #[error("{why}")]
    Unavailable {
        /// What is missing.
        why: String,
        /// When to ask again.
        retry_after: Duration,
    },
}

impl Refusal {
    pub(super) fn auth_required(why: impl fmt::Display, challenge: &Challenge<'_>) -> Self {
        Self::AuthRequired {
            why: why.to_string(),
            challenge: challenge.value(),
        }
    }

    pub(super) fn denied(why: impl fmt::Display) -> Self {
        Self::Denied {
            why: why.to_string(),
            challenge: None,
        }
    }
}

/// What would be taken instead (RFC 9110, RFC 6750).
#[derive(Clone, Copy, Debug)]
pub(super) enum Challenge<'c> {
    /// A key in this header.
    Key(&'c HeaderName),
    /// A token with this scope.
    Token(&'c Scope),
    /// A token that is good; why this one is not.
    OtherToken(&'c str),
    /// A token that also has this scope.
    MoreScope(&'c Scope),
    /// A key in this header, or a token.
    Either(&'c HeaderName),
}

impl Challenge<'_> {
    pub(super) fn value(&self) -> HeaderValue {
        let key = |header| format!("ApiKey realm=\"{REALM}\", header=\"{header}\"");
        let token = format!("Bearer realm=\"{REALM}\"");
        let text = match self {
            Self::Key(header) => key(header),
            Self::Either(header) => format!("{token}, {}", key(header)),
            Self::Token(scope) => format!("{token}, scope=\"{}\"", scope.as_str()),
            Self::OtherToken(why) => {
                format!("{token}, error=\"invalid_token\", error_description=\"{why}\"")
            }
            Self::MoreScope(scope) => {
                let scope = scope.as_str();
                format!("{token}, error=\"insufficient_scope\", scope=\"{scope}\"")
            }
        };
        HeaderValue::try_from(text).expect("names, scopes and our own words are printable ascii")
    }
}
