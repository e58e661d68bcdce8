//! What keeps a lane from pulling, and when to try again.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::super::pace::Pace;
use crate::clock::Chance;

/// The wait before trouble is tried again; doubled while it lasts.
const RETRY_DELAY: Duration = Duration::from_millis(50);
const RETRY_DELAY_MAX: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Trouble {
    chance: Chance,
    delay: Duration,
    retry_at: Option<Instant>,
    pace: Pace,
    /// When the connection broke last, or the lane was made.
    broke_at: Instant,
    /// The consumer has to be created before anything can be pulled.
    pub(super) consumer_gone: bool,
}

impl Trouble {
    /// None yet.
    pub(super) fn none(chance: Chance) -> Self {
        Self {
            chance,
            delay: RETRY_DELAY,
            retry_at: None,
            pace: Pace::default(),
            broke_at: Instant::now(),
            consumer_gone: false,
        }
    }

    /// Waits until it is time to try again.
    pub(super) async fn wait(&self) {
        if let Some(at) = self.retry_at {
            sleep_until(at).await;
        }
    }

    /// Something failed: the next try comes later than the last.
    pub(super) fn grow(&mut self) {
        self.retry_at = Some(Instant::now() + self.chance.around(self.delay, 0.5));
        self.delay = (self.delay * 2).min(RETRY_DELAY_MAX);
    }

    /// The connection broke: what broke it may come again.
    pub(super) fn broke(&mut self) {
        let now = Instant::now();
        let delay = self.pace.after(now - self.broke_at);
        self.broke_at = now;
        self.retry_at = Some(now + self.chance.around(delay, 0.5));
    }

    /// Something worked.
    pub(super) const fn pass(&mut self) {
        self.delay = RETRY_DELAY;
        self.retry_at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn trouble_is_tried_again_ever_later_up_to_a_bound_until_something_works() {
        let mut trouble = Trouble::none(Chance::seeded(3));
        let mut waited = Vec::new();
        for _ in 0..10 {
            trouble.grow();
            let began = Instant::now();
            trouble.wait().await;
            waited.push(began.elapsed());
        }
        assert!(
            waited.iter().all(|it| *it <= RETRY_DELAY_MAX.mul_f64(1.51)),
            "{waited:?}"
        );
        assert!(waited.first() < waited.last(), "{waited:?}");
        trouble.pass();
        let began = Instant::now();
        trouble.wait().await;
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}
