//! The door for model clients: the fleet as a server of the Model Context Protocol, by streamable
//! HTTP at `/mcp`.
//!
//! Owns that whatever a caller may ask of the fleet is a tool to it, and that a call is an execution
//! like every other. Any gateway answers any request: a session is only a name under which a client
//! calls, and nothing is kept of it.
//! A call is cancelled as the protocol's version says: by closing its answer since 2026-07-28, by a
//! notice before, when a lost connection says nothing.
//! Never: resources, prompts or sampling; and never a result of its own making.

mod admission;
mod answer;
mod arguments;
mod begin;
mod call;
mod metadata;
mod progress;
mod served;
mod session;
mod tools;

use std::{net::SocketAddr, sync::Arc};

use axum::{Router, middleware::from_fn_with_state};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
};
use tokio_util::sync::CancellationToken;
use url::Url;

use self::served::FleetServer;
use crate::{
    clock::Chance,
    config::HttpUrl,
    contract::PurutoName,
    gateway::{
        auth::{CallerRate, Gate},
        executions::Desk,
    },
    policy::LivePolicies,
    puruto::Fleet,
};

/// Where the door is.
pub const PATH: &str = "/mcp";

/// Bytes of one message; what stands around the routes may take fewer.
const MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What this door stands on. Clones are the same door.
#[derive(Clone, Debug)]
pub struct Door {
    /// Where executions are.
    pub desk: Desk,
    /// Who is let in.
    pub gate: Gate,
    /// How much one may ask.
    pub rate: Arc<CallerRate>,
    /// What the targets say of themselves.
    pub purutos: Arc<Fleet>,
    /// Whom the gateway may ask for what.
    pub policies: LivePolicies,
    /// As whom the fleet is asked.
    pub caller: PurutoName,
    /// By which names callers reach the gateway.
    pub reach: Reach,
    /// Whose tokens are taken, if anybody's.
    pub issuer: Option<HttpUrl>,
    /// Draws the names of sessions.
    pub chance: Chance,
    /// Ends every answer that is under way, and no execution.
    pub stop: CancellationToken,
}

/// By which names callers reach the gateway. What comes under another name is refused, so that no
/// page in a browser gets here by a name that its owner pointed at this machine.
#[derive(Clone, Debug)]
pub struct Reach {
    /// The address of everything.
    pub public: HttpUrl,
    /// Whether that was given, and is not only where the gateway listens.
    pub is_given: bool,
    /// Where the gateway listens.
    pub listen: SocketAddr,
    /// The origins whose pages may ask.
    pub origins: Vec<HttpUrl>,
}

/// The routes of this door, and those by which a client learns where tokens are to be had.
pub fn routes(door: Door) -> Router {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_max_request_body_bytes(MESSAGE_BYTES_MAX)
        .with_cancellation_token(door.stop.clone());
    let config = door.reach.guard(config);
    let server = FleetServer::new(door.clone());
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
    Router::new()
        .route_service(PATH, service)
        .layer(axum::middleware::from_fn(begin::in_time))
        .layer(from_fn_with_state(door.clone(), session::keep))
        .layer(from_fn_with_state(door.clone(), admission::admit))
        .merge(metadata::routes(&door))
}

impl Reach {
    fn guard(&self, config: StreamableHttpServerConfig) -> StreamableHttpServerConfig {
        let origins = std::iter::once(&self.public).chain(&self.origins);
        let config = config
            .with_allowed_origins(origins.filter_map(origin))
            .enforce_origin_validation();
        match self.hosts() {
            Some(hosts) => config.with_allowed_hosts(hosts),
            None => config.disable_allowed_hosts(),
        }
    }

    /// The hosts that a request may name; any where it is not known how the gateway is reached.
    fn hosts(&self) -> Option<Vec<String>> {
        let mut hosts = ["localhost", "127.0.0.1", "::1"]
            .map(str::to_owned)
            .to_vec();
        let listens_anywhere = self.listen.ip().is_unspecified();
        if listens_anywhere && !self.is_given {
            return None;
        }
        if !listens_anywhere {
            hosts.push(self.listen.ip().to_string());
        }
        let public = Url::parse(self.public.as_str()).ok();
        hosts.extend(public.and_then(|it| it.host_str().map(bare)));
        Some(hosts)
    }
}

/// A host without the brackets of an IPv6 address.
fn bare(host: &str) -> String {
    host.trim_matches(['[', ']']).to_owned()
}

/// Scheme, host and port, the port always there.
fn origin(url: &HttpUrl) -> Option<String> {
    let url = Url::parse(url.as_str()).ok()?;
    let port = url.port_or_known_default()?;
    Some(format!("{}://{}:{port}", url.scheme(), url.host_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(public: &str, is_given: bool, listen: &str, origins: &[&str]) -> Reach {
        let url = |text: &str| text.parse::<HttpUrl>().expect("an address");
        Reach {
            public: url(public),
            is_given,
            listen: listen.parse().expect("an address"),
            origins: origins.iter().map(|it| url(it)).collect(),
        }
    }

    fn guard(reach: &Reach) -> StreamableHttpServerConfig {
        reach.guard(StreamableHttpServerConfig::default())
    }

    #[test]
    fn a_gateway_is_reached_by_the_names_that_it_is_known_to_have() {
        let local = ["localhost", "127.0.0.1", "::1"];
        for (reach, more) in [
            (
                reach("http://127.0.0.1:8080", false, "127.0.0.1:8080", &[]),
                &["127.0.0.1"; 2][..],
            ),
            (
                reach("https://fleet.example/x", true, "0.0.0.0:80", &[]),
                &["fleet.example"],
            ),
            (
                reach("https://[2001:db8::1]", true, "192.0.2.1:80", &[]),
                &["192.0.2.1", "2001:db8::1"],
            ),
        ] {
            assert_eq!(guard(&reach).allowed_hosts, [&local, more].concat());
        }
        let unknown = reach("http://0.0.0.0:80", false, "0.0.0.0:80", &[]);
        assert!(guard(&unknown).allowed_hosts.is_empty());
    }

    #[test]
    fn pages_of_the_gateway_and_of_origins_that_are_named_may_ask() {
        let reach = reach(
            "https://fleet.example",
            true,
            "0.0.0.0:80",
            &["http://app:3000/x"],
        );
        let expected = ["https://fleet.example:443", "http://app:3000"];
        assert_eq!(guard(&reach).allowed_origins, expected);
    }
}
