//! What every route of this door stands on.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::http::{HeaderMap, HeaderName};

use crate::{
    config::HttpUrl,
    contract::PurutoName,
    gateway::{
        Principal,
        auth::{AuthScheme, CallerRate, Gate, Presented},
        executions::Desk,
        problem::Problem,
        skills::LiveSkills,
    },
};

/// What every route of this door stands on. Clones are the same door.
#[derive(Clone, Debug)]
pub struct Front {
    /// Where executions are.
    pub desk: Desk,
    /// Who is let in.
    pub gate: Gate,
    /// How much one may ask.
    pub rate: Arc<CallerRate>,
    /// What can be asked for.
    pub skills: LiveSkills,
    /// As whom the fleet is asked.
    pub caller: PurutoName,
    /// How long a caller may wait for an answer at most.
    pub wait_max: Duration,
    /// How callers reach the gateway.
    pub public: HttpUrl,
}

impl Front {
    /// Who asks, where nothing but that is asked of them; counted against what they may ask.
    pub(super) async fn identify(
        &self,
        headers: &HeaderMap,
        peer: SocketAddr,
    ) -> Result<Principal, Problem> {
        let names = self.key_headers();
        let presented = Presented::new(headers).looking_in(&names);
        let who = self.gate.identify(&presented).await;
        self.counted(who, peer)
    }

    /// The same caller, counted; one who is not let in counts as nobody in particular.
    pub(super) fn counted(
        &self,
        who: Result<Principal, crate::gateway::auth::Refusal>,
        peer: SocketAddr,
    ) -> Result<Principal, Problem> {
        let counted = who.as_ref().unwrap_or(&Principal::Anonymous);
        self.rate.count(counted, peer.ip())?;
        Ok(who?)
    }

    /// What is told to whoever did not even say who they are: they count as nobody in particular.
    pub(super) fn turned_away(&self, problem: Problem, peer: SocketAddr) -> Problem {
        let counted = self.rate.count(&Principal::Anonymous, peer.ip());
        counted.map_or_else(Problem::from, |()| problem)
    }

    /// The headers in which keys may come, by what the skills ask for.
    pub(super) fn key_headers(&self) -> Vec<HeaderName> {
        let skills = self.skills.current();
        let mut names: Vec<HeaderName> = Vec::new();
        for skill in skills.iter() {
            if let AuthScheme::ApiKey { header } = skill.auth()
                && !names.contains(header)
            {
                names.push(header.clone());
            }
        }
        names
    }
}
