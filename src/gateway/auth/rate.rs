//! How much one caller may ask in a minute.
//!
//! Never: by what a caller says of itself. Who is not known is counted by where it comes from.

use std::{
    net::{IpAddr, Ipv6Addr},
    num::NonZeroU32,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use governor::{
    NotUntil, Quota, RateLimiter, clock::Clock, middleware::NoOpMiddleware,
    state::keyed::DashMapStateStore,
};
use tokio::time::Instant;

use crate::{gateway::Principal, store::executions::Owner};

/// Callers that are told apart at a time. Beyond, those who are not known share one account.
const CALLERS_MAX: usize = 100_000;
/// After so many requests, callers are forgotten who asked nothing lately.
const SWEEP_EVERY: u64 = 1_024;

/// Whose requests are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Account {
    Known(Owner),
    Network(IpAddr),
    Crowd,
}

/// The time that has passed, by the runtime's clock.
#[derive(Clone, Debug)]
struct Elapsed(Instant);

impl Clock for Elapsed {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

type Limiter = RateLimiter<Account, DashMapStateStore<Account>, Elapsed, NoOpMiddleware<Duration>>;

/// A caller asked too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many requests: ask again in {} s", self.retry_after.as_secs())]
pub struct TooMany {
    /// When it may ask again, in whole seconds.
    pub retry_after: Duration,
}

/// Counts what callers ask.
#[derive(Debug)]
pub struct CallerRate {
    limiter: Limiter,
    clock: Elapsed,
    callers_max: usize,
    counted: AtomicU64,
    crowded: AtomicBool,
}

impl CallerRate {
    /// Lets each caller ask `per_minute`, all at once or spread.
    #[must_use]
    pub fn new(per_minute: NonZeroU32) -> Self {
        Self::telling_apart(CALLERS_MAX, per_minute)
    }

    fn telling_apart(callers_max: usize, per_minute: NonZeroU32) -> Self {
        let clock = Elapsed(Instant::now());
        let quota = Quota::per_minute(per_minute);
        Self {
            limiter: RateLimiter::dashmap_with_clock(quota, clock.clone()),
            clock,
            callers_max,
            counted: AtomicU64::new(0),
            crowded: AtomicBool::new(false),
        }
    }

    /// Counts one request of `principal`. A request whose credentials are refused counts as
    /// [`Principal::Anonymous`], so that guessing has its bound too.
    ///
    /// # Errors
    /// It was one too many, and is not counted.
    pub fn count(&self, principal: &Principal, peer: IpAddr) -> Result<(), TooMany> {
        let account = match principal {
            Principal::Key(_) | Principal::Subject { .. } => Account::Known(principal.owner()),
            Principal::Anonymous if self.crowded.load(Ordering::Relaxed) => Account::Crowd,
            Principal::Anonymous => Account::Network(network(peer)),
        };
        let counted = self.limiter.check_key(&account);
        self.sweep();
        counted.map_err(|until| self.too_many(&until))
    }

    /// Whoever asked nothing lately is as good as new, and need not be kept.
    fn sweep(&self) {
        if self.counted.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY - 1 {
            self.limiter.retain_recent();
            let crowded = self.limiter.len() >= self.callers_max;
            if self.crowded.swap(crowded, Ordering::Relaxed) != crowded {
                tracing::warn!(
                    crowded,
                    "callers who are not known share an account when crowded"
                );
            }
        }
    }

    fn too_many(&self, until: &NotUntil<Duration>) -> TooMany {
        let wait = until.wait_time_from(self.clock.now());
        let partly = u64::from(wait.subsec_nanos() > 0);
        let seconds = wait.as_secs().saturating_add(partly).max(1);
        TooMany {
            retry_after: Duration::from_secs(seconds),
        }
    }
}

/// The network that a peer has to itself: of IPv6, the first 64 bits.
pub(in crate::gateway) fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(peer) => {
            let host = u128::from(u64::MAX);
            Ipv6Addr::from_bits(peer.to_bits() & !host).into()
        }
        peer => peer,
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const A: &str = "192.0.2.1";
    const B: &str = "192.0.2.2";

    fn rate(per_minute: u32) -> CallerRate {
        CallerRate::new(NonZeroU32::new(per_minute).expect("some"))
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn key(name: &str) -> Principal {
        Principal::Key(name.into())
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_asked_too_much_is_told_when_to_come_back_and_may_then() {
        let rate = rate(2);
        for _ in 0..2 {
            assert_eq!(rate.count(&key("a"), ip(A)), Ok(()));
        }
        advance(Duration::from_millis(10_500)).await;
        let retry_after = Duration::from_secs(20);
        assert_eq!(rate.count(&key("a"), ip(A)), Err(TooMany { retry_after }));
        advance(retry_after).await;
        assert_eq!(rate.count(&key("a"), ip(A)), Ok(()));
        assert!(rate.count(&key("a"), ip(A)).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn callers_are_counted_by_who_they_are_or_else_by_where_they_come_from() {
        let rate = rate(1);
        assert!(rate.count(&key("a"), ip(A)).is_ok());
        assert!(rate.count(&key("a"), ip(B)).is_err());
        assert!(rate.count(&key("b"), ip(A)).is_ok());
        for (peer, counted) in [
            (A, true),
            ("::ffff:192.0.2.1", false),
            (B, true),
            ("2001:db8:1:2:3:4:5:6", true),
            ("2001:db8:1:2::1", false),
            ("2001:db8:1:3::1", true),
        ] {
            let count = rate.count(&Principal::Anonymous, ip(peer));
            assert_eq!(count.is_ok(), counted, "{peer}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_asked_nothing_lately_is_forgotten() {
        let rate = rate(60);
        let peers = (0..u32::try_from(SWEEP_EVERY).expect("few") - 1).map(|n| n.to_be_bytes());
        for peer in peers {
            assert!(rate.count(&Principal::Anonymous, peer.into()).is_ok());
        }
        assert_eq!(rate.limiter.len(), 1_023);
        advance(Duration::from_secs(60)).await;
        assert!(rate.count(&key("a"), ip(A)).is_ok());
        assert_eq!(rate.limiter.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_shares_an_account_and_who_is_known_keeps_its_own() {
        let rate = CallerRate::telling_apart(100, NonZeroU32::MIN);
        assert!(rate.count(&key("a"), ip(A)).is_ok());
        for n in 1..u32::try_from(SWEEP_EVERY).expect("few") {
            assert!(
                rate.count(&Principal::Anonymous, n.to_be_bytes().into())
                    .is_ok()
            );
        }
        assert!(rate.count(&Principal::Anonymous, ip(A)).is_ok());
        assert!(rate.count(&Principal::Anonymous, ip(B)).is_err());
        assert!(rate.count(&key("b"), ip(A)).is_ok());
        assert!(rate.count(&key("a"), ip(A)).is_err());
    }
}
