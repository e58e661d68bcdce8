//! The session under which claims are made.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::store::SessionId;

/// One life of the worker in the store.
#[derive(Debug)]
pub struct Session {
    /// Its name.
    pub id: SessionId,
    /// Ends when the session may be gone: every claim under it is then void.
    pub fenced: CancellationToken,
    opened: Instant,
    good_for: Duration,
    /// Milliseconds from `opened` to the sending of the last renewal that was granted.
    renewed: AtomicU64,
}

impl Session {
    /// A session whose opening was sent at `opened`; each renewal is good for `good_for` from the
    /// moment at which it was sent.
    #[must_use]
    pub fn new(id: SessionId, opened: Instant, good_for: Duration) -> Self {
        Self {
            id,
            fenced: CancellationToken::new(),
            opened,
            good_for,
            renewed: AtomicU64::new(0),
        }
    }

    /// A renewal that was sent at `sent` has been granted.
    pub fn renewed(&self, sent: Instant) {
        let since = sent.saturating_duration_since(self.opened).as_millis();
        let since = u64::try_from(since).unwrap_or(u64::MAX);
        self.renewed.fetch_max(since, Ordering::SeqCst);
    }

    /// Until when the last renewal is good.
    #[must_use]
    pub fn good_until(&self) -> Instant {
        self.opened + Duration::from_millis(self.renewed.load(Ordering::SeqCst)) + self.good_for
    }

    /// How long ago its opening was sent.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.opened.elapsed()
    }

    /// Voids every claim under it.
    pub fn fence(&self) {
        self.fenced.cancel();
    }

    /// Whether its claims may still be acted on. Asked by whoever speaks to the broker: a process
    /// that was stopped and goes on knows here, before its heartbeat has run again, that it slept
    /// too long. Whoever finds it so fences the session for good, even if a late renewal were to be
    /// granted: claims may have been dropped by then, and nobody would work on them.
    #[must_use]
    pub fn is_live(&self) -> bool {
        if Instant::now() >= self.good_until() {
            self.fence();
        }
        !self.fenced.is_cancelled()
    }
}

/// The session of this moment, if there is one.
#[derive(Clone, Debug)]
pub struct SessionWatch(watch::Receiver<Option<Arc<Session>>>);

impl SessionWatch {
    /// What `receiver` says.
    #[must_use]
    pub const fn new(receiver: watch::Receiver<Option<Arc<Session>>>) -> Self {
        Self(receiver)
    }

    /// The session, unless there is none that lives.
    #[must_use]
    pub fn current(&self) -> Option<Arc<Session>> {
        let session = self.0.borrow().clone()?;
        session.is_live().then_some(session)
    }

    /// Waits until there is a session; for ever when nobody will open one any more.
    pub async fn opened(&mut self) -> Arc<Session> {
        loop {
            self.0.mark_unchanged();
            if let Some(session) = self.current() {
                return session;
            }
            if self.0.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Chance;

    #[tokio::test(start_paused = true)]
    async fn a_renewal_is_good_from_the_moment_at_which_it_was_sent() {
        let good_for = Duration::from_secs(10);
        let id = SessionId::fresh(&Chance::seeded(1));
        let session = Session::new(id, Instant::now(), good_for);
        tokio::time::advance(Duration::from_secs(4)).await;
        session.renewed(Instant::now());
        tokio::time::advance(Duration::from_secs(9)).await;
        assert!(session.is_live());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(!session.is_live());
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_once_found_dead_stays_dead() {
        let good_for = Duration::from_secs(10);
        let id = SessionId::fresh(&Chance::seeded(1));
        let session = Session::new(id, Instant::now(), good_for);
        tokio::time::advance(good_for).await;
        assert!(!session.is_live());
        session.renewed(Instant::now());
        assert!(!session.is_live() && session.fenced.is_cancelled());
    }
}
