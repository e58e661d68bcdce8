//! How whoever holds a claim asks a store that may be away: until it answers, or until the claim may
//! be lost. Each operation is idempotent, so asking again does no harm.

use std::future::{Future, pending};

use super::{Ports, Session, patience::Patience};
use crate::store::StoreFault;

impl<B, C> Ports<B, C> {
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
        let mut patience = Patience::new(&self.chance, None);
        loop {
            match ask().await {
                Ok(answer) => return Some(answer),
                Err(fault) => self.store_faulted(&fault, operation),
            }
            tokio::select! {
                () = session.fenced.cancelled() => return None,
                _ = patience.wait() => {}
            }
        }
    }
    /// The same for a handler, which is dropped once its claim is void: it is then never answered.
    pub(super) async fn insist_or_never<T, F>(
        &self,
        session: &Session,
        operation: &'static str,
        ask: impl Fn() -> F,
    ) -> T
    where
        F: Future<Output = Result<T, StoreFault>>,
    {
        match self.insist(session, operation, ask).await {
            Some(answer) => answer,
            None => pending().await,
        }
    }
}
