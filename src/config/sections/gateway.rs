//! `[gateway]`: the door for whoever speaks HTTP.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use crate::{
    config::{
        address::{HttpUrl, Offered},
        section::section,
        value::{Secret, Whole},
    },
    contract::PurutoName,
};

section! {
    /// The door for whoever speaks HTTP.
    GatewayConfig in "gateway" {
        /// Where skills, the other doors and the dashboard are served: `address:port` (port 0 takes a
        /// free one).
        listen: SocketAddr = "127.0.0.1:8080",
        /// How callers reach it, for the addresses that it names; by `listen` when empty.
        public_url: Option<HttpUrl> = "",
        /// A certificate chain (PEM) to serve TLS with.
        tls_certificate: Option<PathBuf> = "",
        /// The key of that certificate (PEM).
        tls_key: Option<PathBuf> = "",
        /// Where `/metrics`, `/livez` and `/readyz` are served: `address:port` (port 0 takes a free
        /// one) or `off`.
        telemetry: Offered = "127.0.0.1:9465",
        /// As whom it asks; the policy of that name says whom it may ask for what.
        caller: PurutoName = "puruto-gateway",
        /// The folder of the skills' descriptors, one JSON file each.
        skills_dir: PathBuf = "config/skills",
        /// The file of the API keys' digests.
        keys_file: PathBuf = "config/gateway-keys.toml",
        /// The OAuth 2.0 issuer whose tokens are taken.
        oauth_issuer: Option<HttpUrl> = "",
        /// For whom its tokens have to be meant (`aud`).
        oauth_audience: Option<String> = "",
        /// Where its keys are; found by its metadata when empty.
        oauth_jwks_url: Option<HttpUrl> = "",
        /// Connections that are open at a time; more wait.
        max_connections: Whole<1, 1_000_000> = "10000",
        /// Bytes that a request's line and headers may have; a bearer token may take half of them.
        max_head: Whole<8_192, 262_144> = "16384",
        /// Bytes that a request's body may have.
        max_body: Whole<1_024, 67_108_864> = "1048576",
        /// How long a request may take to arrive, and its answer to begin where the caller does not
        /// ask to wait.
        request_timeout: Duration = "30s",
        /// How long a caller may wait for an answer at most (`Prefer: wait`).
        wait_max: Duration = "60s",
        /// Requests that one caller may make a minute.
        rate: Whole<1, 1_000_000_000> = "60000",
        /// How long a stopping gateway may finish what it answers.
        drain_timeout: Duration = "10s",
        /// Origins whose pages may ask it, joined by commas; none by default.
        cors_origins: Vec<HttpUrl> = "",
        /// Whether the dashboard is served.
        dashboard: bool = "true",
        /// What one has to know to see the dashboard; made and printed at each start when empty.
        dashboard_token: Option<Secret> = "",
        /// Whether the dashboard shows prompts and results.
        dashboard_content: bool = "true",
        /// How many of the latest requests the dashboard lists.
        dashboard_recent: Whole<100, 1_000_000> = "100000",
    }
}
