//! Whether the store can be asked, and when it is asked again.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::{store::StoreFault, telemetry::metrics::Metrics};

/// How long a store that did not answer is not asked: no call is to wait for it meanwhile.
pub(super) const ALONE_FOR: Duration = Duration::from_secs(1);

/// Keeps a store that is away from being asked at every call.
pub(super) struct Solitude {
    /// When somebody may ask again; `None` while the store answers.
    asks_again: Mutex<Option<Instant>>,
    metrics: Metrics,
}

impl Solitude {
    pub(super) fn new(metrics: Metrics) -> Self {
        let asks_again = Mutex::default();
        Self {
            asks_again,
            metrics,
        }
    }

    /// Whether the caller may ask; of all who come while the store is away, one each second.
    pub(super) fn may_ask(&self) -> bool {
        let now = Instant::now();
        self.with(|asks_again| match asks_again {
            Some(at) if *at > now => false,
            Some(at) => {
                *at = now + ALONE_FOR;
                true
            }
            None => true,
        })
    }

    /// The store answered.
    pub(super) fn heard(&self) {
        if self.with(Option::take).is_some() {
            tracing::info!("the fleet's circuits and limits are shared again");
        }
    }

    /// It did not.
    pub(super) fn lost(&self, fault: &StoreFault) {
        let again = Instant::now() + ALONE_FOR;
        if self.with(|asks_again| asks_again.replace(again)).is_none() {
            self.metrics.went_alone();
            tracing::warn!(%fault, "going by this worker's own circuits and limits for now");
        }
    }

    fn with<T>(&self, step: impl FnOnce(&mut Option<Instant>) -> T) -> T {
        let mut asks_again = self
            .asks_again
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        step(&mut asks_again)
    }
}
