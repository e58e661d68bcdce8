//! The policies that hold now, for whoever decides.

use std::sync::Arc;

use tokio::sync::watch;

use super::set::PolicySet;

/// The policies that hold now; cheap to clone, read without waiting for whoever reloads them.
#[derive(Clone, Debug)]
pub struct LivePolicies(watch::Receiver<Arc<PolicySet>>);

impl LivePolicies {
    /// Policies that stay as they are.
    #[must_use]
    pub fn fixed(set: PolicySet) -> Self {
        Self::changeable(set).1
    }

    pub(super) fn changeable(set: PolicySet) -> (watch::Sender<Arc<PolicySet>>, Self) {
        let (sender, receiver) = watch::channel(Arc::new(set));
        (sender, Self(receiver))
    }

    /// The policies that hold now, as one consistent value.
    #[must_use]
    pub fn current(&self) -> Arc<PolicySet> {
        Arc::clone(&self.0.borrow())
    }

    /// Waits for the next change; `false` when there will be none.
    pub async fn changed(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}
