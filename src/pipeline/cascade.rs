//! Cascade: whatever nobody wants any more is cancelled, down to the last descendant.
//!
//! Best effort, and at once: a descendant that could not be told ends by its deadline, which is no
//! later than that of whoever asked for it. Never: a wait for one of them.

use super::{Pipeline, trail};
use crate::{
    broker::Asking,
    store::{CancelAnswer, Records, RequestKey},
};

impl<B: Asking, C: Records> Pipeline<B, C> {
    /// Cancels `requests` and everything below them.
    pub(super) async fn cascade(&self, requests: impl IntoIterator<Item = RequestKey>) {
        let mut left: Vec<_> = requests.into_iter().collect();
        while let Some(key) = left.pop() {
            let cancelled = self.ports.claims.cancel(&key).await;
            if let Ok(answer) = &cancelled {
                trail::unwanted(&key, answer);
            }
            match cancelled {
                Ok(CancelAnswer::Owned(_)) => self.announce(&key).await,
                Ok(CancelAnswer::Waiting(children)) => {
                    left.extend(children.into_iter().map(|it| it.key));
                }
                // Whoever is given it next learns of it; the supervisor looks for those.
                Ok(CancelAnswer::Flagged | CancelAnswer::AlreadyDone) => {}
                Err(fault) => self.ports.store_faulted(&fault, "cancel"),
            }
        }
    }

    /// A cancel was announced: it is written down, and everything below the request is cancelled
    /// where that waits. Whoever has it in hand heard the announcement too.
    pub async fn note_cancel(&self, key: &RequestKey) {
        match self.ports.claims.cancel(key).await {
            Ok(CancelAnswer::Waiting(children)) => {
                self.cascade(children.into_iter().map(|it| it.key)).await;
            }
            Ok(CancelAnswer::Owned(_) | CancelAnswer::Flagged | CancelAnswer::AlreadyDone) => {}
            Err(fault) => self.ports.store_faulted(&fault, "cancel"),
        }
    }

    async fn announce(&self, key: &RequestKey) {
        if let Err(fault) = self.ports.broker.announce_cancel(key).await {
            // The next renewal of its owner's session brings it.
            self.ports.broker_faulted(&fault, "announce cancel");
        }
    }
}
