//! Every door of the gateway, on what they share.

use std::sync::Arc;

use axum::Router;
use tokio_util::sync::CancellationToken;

use crate::{
    cli::session::World,
    config::Config,
    gateway::{
        a2a::{self, Agents},
        mcp::{self, Reach},
        v1::{self, Front},
    },
    policy::LivePolicies,
    puruto::Fleet,
};

/// What the doors share.
pub(super) struct Doors {
    /// What the first of them stands on, and so do the others.
    pub(super) front: Front,
    /// The page of the operator, if it is served.
    pub(super) dashboard: Router,
    /// What the targets say of themselves.
    pub(super) purutos: Arc<Fleet>,
    /// Whom the gateway may ask for what.
    pub(super) policies: LivePolicies,
    /// Ends the answers that are under way.
    pub(super) stop: CancellationToken,
}

impl Doors {
    /// The routes of all of them.
    pub(super) fn routes(self, config: &Config, world: &World) -> Router {
        let agents = a2a::routes(self.agents());
        let tools = mcp::routes(self.tools(config, world));
        v1::routes(self.front)
            .merge(self.dashboard)
            .merge(agents)
            .merge(tools)
            .fallback(v1::no_route)
    }

    fn agents(&self) -> a2a::Door {
        let front = self.front.clone();
        let purutos = Arc::clone(&self.purutos);
        a2a::Door {
            agents: Agents::new(purutos, self.policies.clone(), front.caller),
            desk: front.desk,
            gate: front.gate,
            rate: front.rate,
            wait_max: front.wait_max,
            public: front.public,
        }
    }

    fn tools(&self, config: &Config, world: &World) -> mcp::Door {
        let front = self.front.clone();
        let config = &config.gateway;
        mcp::Door {
            desk: front.desk,
            gate: front.gate,
            rate: front.rate,
            purutos: Arc::clone(&self.purutos),
            policies: self.policies.clone(),
            caller: front.caller,
            reach: Reach {
                public: front.public,
                is_given: config.public_url.is_some(),
                listen: config.listen,
                origins: config.cors_origins.clone(),
            },
            issuer: config.oauth_issuer.clone(),
            chance: world.chance.clone(),
            stop: self.stop.clone(),
        }
    }
}
