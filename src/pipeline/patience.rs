//! How a stage keeps asking a server that does not answer: ever more rarely, never for ever.

use std::time::Duration;

use tokio::time::Instant;

use crate::clock::Chance;

const FIRST: Duration = Duration::from_millis(50);
const MAX: Duration = Duration::from_secs(5);

/// One stage's waits between tries.
#[derive(Debug)]
pub(super) struct Patience<'c> {
    chance: &'c Chance,
    ends: Option<Instant>,
    next: Duration,
}

impl<'c> Patience<'c> {
    /// Patience that ends after `total`; without a total something else has to end the waiting.
    pub(super) fn new(chance: &'c Chance, total: Option<Duration>) -> Self {
        Self {
            chance,
            ends: total.map(|total| Instant::now() + total),
            next: FIRST,
        }
    }

    /// Waits before the next try; `false`, at once, when that would be after the end.
    pub(super) async fn wait(&mut self) -> bool {
        let delay = self.chance.around(self.next, 0.5);
        if self.ends.is_some_and(|ends| Instant::now() + delay > ends) {
            return false;
        }
        self.next = (self.next * 2).min(MAX);
        tokio::time::sleep(delay).await;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_grow_to_a_bound_and_end_in_time() {
        let chance = Chance::seeded(1);
        let began = Instant::now();
        let mut patience = Patience::new(&chance, Some(Duration::from_secs(60)));
        let mut waits = 0;
        while patience.wait().await {
            waits += 1;
        }
        assert!(began.elapsed() <= Duration::from_secs(60));
        assert!((12..40).contains(&waits), "{waits}");
    }
}
