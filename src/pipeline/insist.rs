//! How a stage that holds a claim asks a store that may be away: until it answers, or until the
//! claim may be lost. Each operation is idempotent, so asking again does no harm.

use std::future::Future;

use super::{Pipeline, Session, patience::Patience};
use crate::store::StoreFault;

impl<B, C> Pipeline<B, C> {
    /// What the store answers; `None` when `session`, under which the claim was made, has ended.
    pub(super) async fn insist<T, F>(
        &self,
        session: &Session,
        operation: &'static str,
        ask: impl Fn() -> F,
    ) -> Option<T>
    where
        F: Future<Output = Result<T, StoreFault>>,
    {
        let mut patience = Patience::new(&self.ports.chance, None);
        loop {
            match ask().await {
                Ok(answer) => return Some(answer),
                Err(fault) => self.ports.store_faulted(&fault, operation),
            }
            tokio::select! {
                () = session.fenced.cancelled() => return None,
                _ = patience.wait() => {}
            }
        }
    }
}
