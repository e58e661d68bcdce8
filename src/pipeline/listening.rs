//! Listeners of answers that are being written: whoever subscribes to the request's subject.
//!
//! Never: anything that is kept, or waited for beyond the broker's own bound.

use std::{fmt, sync::Arc};

use futures_util::{FutureExt as _, future::BoxFuture};

use super::Ports;
use crate::{
    broker::{Broker, BrokerFault},
    contract::{InvocationRequest, TokenMessage},
    handler::{Listeners, Untold},
};

/// Tells them over the broker.
pub(super) struct Listening<B, C>(pub(super) Arc<Ports<B, C>>);

impl<B, C> fmt::Debug for Listening<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listening")
    }
}

impl<B: Broker, C: Send + Sync> Listeners for Listening<B, C> {
    fn tell<'t>(
        &'t self,
        request: &'t InvocationRequest,
        message: TokenMessage,
    ) -> BoxFuture<'t, Result<(), Untold>> {
        let subjects = &self.0.subjects;
        let subject = subjects.token(&request.correlation_id, &request.request_id);
        let body = message.to_json().into();
        async move { self.send(&subject, body).await }.boxed()
    }
}

impl<B: Broker, C> Listening<B, C> {
    /// Sends until there was room: what the answer says meanwhile is told in longer pieces.
    async fn send(&self, subject: &str, body: bytes::Bytes) -> Result<(), Untold> {
        loop {
            match self.0.broker.broadcast(subject, body.clone()).await {
                Ok(()) => return Ok(()),
                Err(fault @ BrokerFault::TimedOut { .. }) => {
                    self.0.broker_faulted(&fault, "tell listeners");
                }
                Err(fault) => {
                    self.0.broker_faulted(&fault, "tell listeners");
                    return Err(Untold);
                }
            }
        }
    }
}
