//! An answer is told while it is being written.
//!
//! Asking and telling are one future: whoever drops it ends both, so that nothing is told for a
//! request that was lost. Never: a wait of the asking for the telling.

use std::{
    fmt,
    future::{Future, ready},
    pin::pin,
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::time::timeout;

use super::Context;
use crate::{
    contract::{InvocationRequest, Says, TokenMessage, True},
    runtime::stream::{self, Delta, Token, TokenSink, Tokens},
    store::Attempt,
};

/// How long an answer that is whole waits for the rest of it to be told.
const REST_WAIT: Duration = Duration::from_secs(2);

/// Whoever hears of an answer before it has a result.
pub trait Listeners: Send + Sync + fmt::Debug {
    /// Tells them what an answer to `request` says next.
    ///
    /// # Errors
    /// They cannot be told.
    fn tell<'t>(
        &'t self,
        request: &'t InvocationRequest,
        message: TokenMessage,
    ) -> BoxFuture<'t, Result<(), Untold>>;
}

/// Listeners cannot be told of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("listeners could not be told")]
pub struct Untold;

/// For whoever has none.
impl Listeners for () {
    fn tell<'t>(
        &'t self,
        _: &'t InvocationRequest,
        _: TokenMessage,
    ) -> BoxFuture<'t, Result<(), Untold>> {
        Box::pin(ready(Err(Untold)))
    }
}

/// What is told of one execution of a request.
#[derive(Debug)]
pub(super) struct Telling<'t> {
    context: &'t Context,
    tokens: Tokens,
}

impl<'t> Telling<'t> {
    /// Tells the listeners of `context` what is put into the sink.
    pub(super) fn of(context: &'t Context) -> (TokenSink, Self) {
        let (sink, tokens) = stream::channel();
        if context.attempt > Attempt::new(1) {
            // Whatever an earlier execution told is void.
            sink.emit(Delta::Restart);
        }
        (sink, Self { context, tokens })
    }

    /// Runs `asking`, which has the sink, and tells meanwhile. An answer is said to be whole; where
    /// there is none, the result says so.
    pub(super) async fn during<A, E>(
        self,
        asking: impl Future<Output = Result<A, E>>,
    ) -> Result<A, E> {
        let Self { context, tokens } = self;
        let mut telling = pin!(tell_all(context, tokens));
        let mut asking = pin!(asking);
        let mut told = None;
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut asking => break outcome,
                end = &mut telling, if told.is_none() => told = Some(end),
            }
        };
        let rest = async {
            let end = match told {
                Some(end) => end,
                None => telling.await,
            };
            if outcome.is_ok() {
                let (index, says) = (end?, Says::Done(True));
                tell(context, TokenMessage { index, says }).await?;
            }
            Ok::<(), Untold>(())
        };
        if !matches!(timeout(REST_WAIT, rest).await, Ok(Ok(()))) {
            let request_id = &context.request.request_id;
            tracing::debug!(%request_id, "not all of an answer was told");
        }
        outcome
    }
}

/// Tells what comes until nothing more does; the index after the last.
async fn tell_all(context: &Context, mut tokens: Tokens) -> Result<u64, Untold> {
    let mut next = 0;
    while let Some(Token { index, delta }) = tokens.next().await {
        let says = match delta {
            Delta::Content(text) => Says::Content(text),
            Delta::Reasoning(text) => Says::Reasoning(text),
            Delta::Restart => Says::Restart(True),
        };
        tell(context, TokenMessage { index, says }).await?;
        next = index + 1;
    }
    Ok(next)
}

async fn tell(context: &Context, message: TokenMessage) -> Result<(), Untold> {
    context.listeners.tell(&context.request, message).await
}

#[cfg(test)]
#[path = "telling_tests.rs"]
mod tests;
