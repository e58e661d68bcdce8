//! Heartbeat: the worker's session, kept alive on a thread and a connection of its own.
//!
//! A busy walk must not delay it, and it must not wait behind the walk's calls. A worker that
//! cannot renew in time fences itself before anyone else may take its claims.

use std::{future::Future, sync::Arc, thread, time::Duration};

use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::{Chance, Clock, Moved},
    contract::PurutoName,
    pipeline::Session,
    store::{Epoch, Renewal, RequestKey, SessionId, Sessions, StoreFault},
    telemetry::metrics::Metrics,
};

/// The times of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatTimes {
    /// How long the store lets it live after each renewal.
    pub ttl: Duration,
    /// Between renewals.
    pub every: Duration,
    /// How long before the store could let it go it is not trusted any more.
    pub margin: Duration,
}

impl HeartbeatTimes {
    /// Between tries after one that failed.
    fn again(self) -> Duration {
        self.every / 4
    }

    /// How long a renewal is trusted, from the moment at which it was sent.
    const fn good_for(self) -> Duration {
        self.ttl.saturating_sub(self.margin)
    }
}

/// What the heartbeat needs and whom it tells.
#[derive(Debug)]
pub struct Heartbeat {
    /// The worker's name, for people who read the store.
    pub worker: String,
    /// What it serves.
    pub targets: Vec<PurutoName>,
    /// Its times.
    pub times: HeartbeatTimes,
    /// Follows the store's, so that a wrong clock of this machine moves no deadline.
    pub clock: Clock,
    /// Names of sessions, and jitter.
    pub chance: Chance,
    /// Gets each session as it is opened, with the epoch of the store's data set.
    pub opened: mpsc::UnboundedSender<(Arc<Session>, Epoch)>,
    /// Gets the requests that were flagged for cancel.
    pub cancelled: mpsc::UnboundedSender<RequestKey>,
    /// Ends the heartbeat; the session is then closed.
    pub stop: CancellationToken,
    /// What is counted.
    pub metrics: Metrics,
}

impl Heartbeat {
    /// Starts the thread. `connect` is called in it, again and again until it succeeds.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn spawn<S, F>(
        self,
        connect: impl Fn() -> F + Send + 'static,
    ) -> std::io::Result<thread::JoinHandle<()>>
    where
        S: Sessions,
        F: Future<Output = Result<S, StoreFault>>,
    {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let beat = move || runtime.block_on(self.run(connect));
        thread::Builder::new()
            .name("heartbeat".to_owned())
            .spawn(beat)
    }

    async fn run<S: Sessions, F>(self, connect: impl Fn() -> F)
    where
        F: Future<Output = Result<S, StoreFault>>,
    {
        let stop = self.stop.clone();
        let connected = stop.run_until_cancelled(self.connected(connect)).await;
        let Some(store) = connected else { return };
        loop {
            let Some(session) = stop.run_until_cancelled(self.open(&store)).await else {
                return;
            };
            if stop
                .run_until_cancelled(self.keep(&store, &session))
                .await
                .is_none()
            {
                self.close(&store, &session).await;
                return;
            }
            session.fence();
            self.metrics.fenced();
            tracing::warn!(session = %session.id, "lease_lost: the session is fenced, opening a new one");
        }
    }

    async fn connected<S: Sessions, F>(&self, connect: impl Fn() -> F) -> S
    where
        F: Future<Output = Result<S, StoreFault>>,
    {
        loop {
            match connect().await {
                Ok(store) => return store,
                Err(fault) => self.faulted(&fault).await,
            }
        }
    }

    /// Opens a session, trying until it succeeds.
    async fn open<S: Sessions>(&self, store: &S) -> Arc<Session> {
        loop {
            let id = SessionId::fresh(&self.chance);
            let sent = Instant::now();
            match store.open(&id, &self.worker, &self.targets).await {
                Ok(epoch) => {
                    self.follow(store).await;
                    let session = Arc::new(Session::new(id, sent, self.times.good_for()));
                    // Whoever listened is gone only when the worker ends, and then `stop` is next.
                    drop(self.opened.send((Arc::clone(&session), epoch)));
                    return session;
                }
                Err(fault) => self.faulted(&fault).await,
            }
        }
    }

    /// Renews until the session is gone, was fenced by someone else, or cannot be trusted any more.
    async fn keep<S: Sessions>(&self, store: &S, session: &Session) {
        let mut next = self.times.every;
        loop {
            let delay = self.chance.around(next, 0.1);
            tokio::select! {
                () = session.fenced.cancelled() => return,
                () = sleep(delay) => {}
            }
            let sent = Instant::now();
            let left = session.good_until().saturating_duration_since(sent);
            let Ok(answer) = timeout(left, store.renew(&session.id)).await else {
                return;
            };
            self.metrics.session_renewed((&answer).into());
            next = match answer {
                Ok(Renewal::Renewed { cancelled }) => {
                    session.renewed(sent);
                    self.follow(store).await;
                    for key in cancelled {
                        drop(self.cancelled.send(key));
                    }
                    self.times.every
                }
                Ok(Renewal::Fenced) => return,
                Err(fault) => {
                    tracing::warn!(%fault, "the session could not be renewed");
                    self.times.again()
                }
            };
        }
    }

    /// Without an answer the clock goes on as it went.
    async fn follow<S: Sessions>(&self, store: &S) {
        let asked = Instant::now();
        let Ok(Ok(told)) = timeout(self.times.again(), store.time()).await else {
            return;
        };
        let Some(moved) = self.clock.follow(told, asked.elapsed()) else {
            return;
        };
        self.metrics.clock_moved();
        let by = humantime::format_duration(moved.by());
        match moved {
            Moved::Forward(_) => tracing::warn!(%by, "this clock was slow: it follows redis now"),
            Moved::Back(_) => tracing::warn!(%by, "this clock was fast: it follows redis now"),
        }
    }

    async fn close<S: Sessions>(&self, store: &S, session: &Session) {
        if let Err(fault) = store.close(&session.id).await {
            tracing::warn!(%fault, "the session could not be closed; it expires by itself");
        }
        session.fence();
    }

    async fn faulted(&self, fault: &StoreFault) {
        self.metrics.store_faulted(fault);
        tracing::warn!(%fault, "no session yet");
        sleep(self.chance.around(self.times.again(), 0.5)).await;
    }
}

#[cfg(test)]
#[path = "heartbeat_tests.rs"]
mod tests;
