//! How a person gets into the dashboard of this `puruto dev`.
//!
//! Owns the token, unless somebody configured one: the gateway is given it, so that the way in can
//! be shown where a person looks, and stays the same when the gateway is started again.

use crate::{
    clock::Chance,
    config::{Config, HttpUrl},
    gateway::dashboard::Token,
};

/// What gives a gateway its token.
const VARIABLE: &str = "PURUTO_GATEWAY__DASHBOARD_TOKEN";

/// The way into the dashboard.
#[derive(Clone, Debug)]
pub(super) enum WayIn {
    /// There is none: the dashboard is not served.
    None,
    /// By a token that whoever configured it knows.
    Known,
    /// By a token of this run.
    By(Token),
}

impl WayIn {
    pub(super) fn new(config: &Config, chance: &Chance) -> Self {
        match (config.gateway.dashboard, &config.gateway.dashboard_token) {
            (false, _) => Self::None,
            (true, Some(_)) => Self::Known,
            (true, None) => Self::By(Token::fresh(chance)),
        }
    }

    /// What the gateway gets in its environment.
    pub(super) fn variable(&self) -> Option<(String, String)> {
        match self {
            Self::None | Self::Known => None,
            Self::By(token) => Some((VARIABLE.to_owned(), token.expose().to_owned())),
        }
    }

    /// Where a browser goes to a gateway that is reached at `public`.
    pub(super) fn address(&self, public: &HttpUrl) -> Option<String> {
        let public = public.to_string();
        let public = public.trim_end_matches('/');
        match self {
            Self::None => None,
            Self::Known => Some(format!("{public}/")),
            Self::By(token) => Some(format!("{public}/?token={}", token.expose())),
        }
    }
}
