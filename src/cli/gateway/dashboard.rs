//! The gateway's dashboard: its own connections, and how its reader gets in.

use std::num::NonZeroUsize;

use axum::Router;
use tokio_util::sync::CancellationToken;

use crate::{
    broker::nats::NatsClient,
    cli::session::{World, settings},
    client::Client,
    config::{Config, HttpUrl},
    gateway::dashboard::{self, Settings, Token},
    inspect::Onlooker,
    policy::{LivePolicies, PolicySet},
    store::redis::RedisStore,
};

/// Its routes, and on standard error the address that lets its reader in. A token that is made
/// stands nowhere else, and one that is configured not even there.
pub(super) fn routes(
    config: &Config,
    world: &World,
    (nats, store): (NatsClient, RedisStore),
    public: &HttpUrl,
    stop: CancellationToken,
) -> Router {
    let address = public.to_string();
    let address = address.trim_end_matches('/');
    let token = match &config.gateway.dashboard_token {
        Some(token) => {
            world.output.error(format_args!("dashboard: {address}/"));
            Token::chosen(token.expose())
        }
        None => {
            let token = Token::fresh(&world.chance);
            let way_in = format_args!("dashboard: {address}/?token={}", token.expose());
            world.output.error(way_in);
            token
        }
    };
    let recent = usize::try_from(config.gateway.dashboard_recent.get()).ok();
    let how = Settings {
        token,
        content: config.gateway.dashboard_content,
        recent: recent
            .and_then(NonZeroUsize::new)
            .unwrap_or(NonZeroUsize::MIN),
        secure: address.starts_with("https:"),
    };
    let policies = LivePolicies::fixed(PolicySet::default());
    let settings = settings(config, policies, &world.clock, &world.chance);
    let onlooker = Onlooker {
        client: Client::new(nats.clone(), store.clone(), settings),
        nats,
        store,
        subjects: config.nats.prefix.clone(),
        workers_dir: config.worker.workers_dir.clone(),
        environment: world.environment.clone(),
        clock: world.clock.clone(),
        chance: world.chance.clone(),
    };
    dashboard::routes(onlooker, how, stop)
}
