//! The issuer's keys as they are now: fetched ahead of need, again when a token names a new one,
//! and kept for a while when the issuer is away.
//!
//! Never: more than one fetch at a time, or one sooner than [`TRY_EVERY`] after another, whatever
//! callers send.

use std::{future::Future, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, timeout, timeout_at},
};

use super::{
    fetch::{FETCH_MAX, FetchFault},
    key::SigningKeys,
};

/// How often keys are fetched anyway, so that one that was withdrawn is soon forgotten.
const REFRESH_EVERY: Duration = Duration::from_secs(600);
/// The least time between two fetches.
const TRY_EVERY: Duration = Duration::from_secs(30);
/// How long keys are good that could not be fetched again. An issuer that is away so long makes no
/// tokens either.
const GOOD_FOR: Duration = Duration::from_secs(3_600);
/// How long a caller waits for a fetch.
const WAIT_MAX: Duration = Duration::from_secs(20);

const _: () = assert!(FETCH_MAX.as_millis() < WAIT_MAX.as_millis());
const _: () = assert!(TRY_EVERY.as_millis() < REFRESH_EVERY.as_millis());
const _: () = assert!(REFRESH_EVERY.as_millis() * 3 < GOOD_FOR.as_millis());

/// Where an issuer's keys come from.
pub(in crate::gateway::auth) trait KeySource: Send + 'static {
    /// Fetches them; takes [`FETCH_MAX`] at most.
    fn fetch(&self) -> impl Future<Output = Result<SigningKeys, FetchFault>> + Send;
}

/// What is known of the issuer's keys.
#[derive(Clone, Debug, Default)]
struct Held {
    keys: Option<(Arc<SigningKeys>, Instant)>,
    tried: Option<Instant>,
}

impl Held {
    fn good(&self) -> Option<Arc<SigningKeys>> {
        let (keys, fetched) = self.keys.as_ref()?;
        (fetched.elapsed() < GOOD_FOR).then(|| Arc::clone(keys))
    }

    fn may_try(&self) -> bool {
        self.tried.is_none_or(|tried| tried.elapsed() >= TRY_EVERY)
    }
}

/// The issuer's keys for whoever checks tokens; cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct LiveSigningKeys {
    held: watch::Receiver<Held>,
    wanted: Arc<Notify>,
}

impl LiveSigningKeys {
    /// Keys that were just fetched, by nobody who would do so again.
    #[cfg(test)]
    pub(super) fn fixed(keys: SigningKeys) -> Self {
        let now = Instant::now();
        let held = Held {
            keys: Some((Arc::new(keys), now)),
            tried: Some(now),
        };
        Self {
            held: watch::channel(held).1,
            wanted: Arc::default(),
        }
    }

    /// The keys, after a fetch if none is called `kid` and one is due; `None` when there are none
    /// that are still good.
    pub(super) async fn knowing(&self, kid: Option<&str>) -> Option<Arc<SigningKeys>> {
        let mut held = self.held.clone();
        let now = held.borrow_and_update().clone();
        let good = now.good();
        if !now.may_try() || good.as_ref().is_some_and(|keys| keys.knows(kid)) {
            return good;
        }
        self.wanted.notify_one();
        match timeout(WAIT_MAX, held.changed()).await {
            Ok(Ok(())) => held.borrow().good(),
            // Nobody fetches, or not in time: what there was has to do.
            Ok(Err(_)) | Err(_) => good,
        }
    }
}

/// Keeps [`LiveSigningKeys`] current, for as long as [`Keeper::run`] runs.
#[derive(Debug)]
pub(in crate::gateway::auth) struct Keeper<S> {
    source: S,
    held: watch::Sender<Held>,
    wanted: Arc<Notify>,
}

impl<S: KeySource> Keeper<S> {
    pub(super) fn of(source: S) -> (Self, LiveSigningKeys) {
        let (sender, receiver) = watch::channel(Held::default());
        let wanted = Arc::new(Notify::new());
        let live = LiveSigningKeys {
            held: receiver,
            wanted: Arc::clone(&wanted),
        };
        let keeper = Self {
            source,
            held: sender,
            wanted,
        };
        (keeper, live)
    }

    /// Fetches now and whenever it is time or somebody wants it. Runs until it is dropped.
    pub(in crate::gateway::auth) async fn run(self) {
        let mut away = false;
        loop {
            let fetched = self.source.fetch().await;
            // Who asked meanwhile is answered by this fetch.
            self.wanted.notified().now_or_never();
            let tried = Instant::now();
            tell(fetched.as_ref().err(), away);
            away = fetched.is_err();
            self.held.send_modify(|held| {
                held.tried = Some(tried);
                if let Ok(keys) = fetched {
                    held.keys = Some((Arc::new(keys), tried));
                }
            });
            sleep(TRY_EVERY).await;
            if !away {
                // Timed out or woken: it is time either way.
                timeout_at(tried + REFRESH_EVERY, self.wanted.notified())
                    .await
                    .ok();
            }
        }
    }
}

/// Tells of the issuer when that changes.
fn tell(fault: Option<&FetchFault>, away: bool) {
    match fault {
        Some(fault) if !away => {
            tracing::error!(%fault, keep = ?GOOD_FOR, "cannot fetch the issuer's keys");
        }
        Some(fault) => tracing::debug!(%fault, "still cannot fetch the issuer's keys"),
        None if away => tracing::info!("the issuer's keys can be fetched again"),
        None => tracing::debug!("the issuer's keys are fetched"),
    }
}

#[cfg(test)]
#[path = "keeper_tests.rs"]
mod tests;
