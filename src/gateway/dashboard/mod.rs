//! One page to watch the fleet, and what it asks: targets, workers, model servers, the latest
//! requests, dead letters.
//!
//! Never: shown to anybody who does not know its token, and never another's page acting for who
//! does. Never: a query that failed shown as an empty list.

mod api;
mod enter;
mod failure;
mod feed;
mod fill;
mod gate;
mod guard;
mod guesses;
mod heard;
mod keep;
mod live;
mod overview;
mod recent;

use std::{num::NonZeroUsize, sync::Arc};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware::{from_fn, from_fn_with_state},
    routing::{get, post},
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub use self::gate::Token;
use self::{feed::Feed, gate::Gate, live::Live};
use crate::inspect::Onlooker;

/// Bytes of what the page sends.
const BODY_MAX: usize = 16 * 1024;

/// Pages that are kept up to date at a time.
const WATCHING_MAX: usize = 64;

/// How the dashboard is shown.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What one has to know to see it.
    pub token: Token,
    /// Whether prompts and results are shown.
    pub content: bool,
    /// How many of the latest requests are listed.
    pub recent: NonZeroUsize,
    /// Whether it is reached over TLS alone, as its cookie then is.
    pub secure: bool,
}

/// The dashboard, for its routes.
#[derive(Debug)]
struct Dashboard {
    onlooker: Onlooker,
    feed: Arc<Feed>,
    live: Arc<Live>,
    gate: Gate,
    content: bool,
    secure: bool,
    /// Names this life of the index.
    life: Box<str>,
    places: Arc<Semaphore>,
    stop: CancellationToken,
}

/// The routes `/` and `/dashboard/...`, with what they need in the background until `stop`.
///
/// The onlooker's connections should be its own: it hears everything that is published, and a
/// message that no client library can read breaks the connection for a moment.
pub fn routes(onlooker: Onlooker, settings: Settings, stop: CancellationToken) -> Router {
    let feed = Feed::start(onlooker.clone(), settings.recent, stop.clone());
    let dashboard = Arc::new(Dashboard {
        live: Live::start(onlooker.clone(), Arc::clone(&feed), stop.clone()),
        feed,
        gate: Gate::new(&settings.token, onlooker.clock.clone()),
        content: settings.content,
        secure: settings.secure,
        life: format!("{:08x}", onlooker.chance.bits128() >> 96).into(),
        places: Arc::new(Semaphore::new(WATCHING_MAX)),
        onlooker,
        stop,
    });
    router(dashboard)
}

fn router(dashboard: Arc<Dashboard>) -> Router {
    let guarded = Router::new()
        .nest("/dashboard/api", api::routes())
        .route("/dashboard/logout", post(enter::logout))
        .layer(from_fn(guard::only_ours))
        .layer(from_fn_with_state(
            Arc::clone(&dashboard),
            guard::only_logged_in,
        ));
    Router::new()
        .route("/", get(enter::page))
        .route("/dashboard/login", post(enter::login))
        .route("/dashboard/page/{file}", get(enter::asset))
        .merge(guarded)
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .layer(from_fn(guard::strict))
        .with_state(dashboard)
}
