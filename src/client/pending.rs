//! Waits for the result of one request, however it comes.

use std::{fmt, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::{
    Arrival, Arrivals, ClientFault, Exchange, Patience,
    reading::{Asked, Seen},
};
use crate::{
    broker::{ResultMessage, StoredResult},
    contract::{CorrelationId, ErrorCode, InvocationResult, RequestId, ResultError},
};

/// When the stream is first looked at: a result that was there before the request is not
/// published again.
const FIRST_LOOK: Duration = Duration::from_millis(200);

/// How a request is waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    /// How long the request may take.
    pub(super) within: Duration,
    /// When it was published.
    pub(super) started: Instant,
    pub(super) patience: Patience,
    pub(super) look_at_once: bool,
}

/// A request that is stored at the broker, and the subscription to its result. Dropping it ends
/// the wait, not the request.
pub struct Pending<E: Exchange> {
    exchange: Arc<E>,
    arrivals: E::Arrivals,
    asked: Asked,
    within: Duration,
    patience: Patience,
    look_at: Instant,
    until: Instant,
    foreign: bool,
}

impl<E: Exchange> fmt::Debug for Pending<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pending").field(&self.asked).finish()
    }
}

impl<E: Exchange> Pending<E> {
    pub(super) fn new(exchange: Arc<E>, arrivals: E::Arrivals, asked: Asked, wait: Wait) -> Self {
        let first_look = if wait.look_at_once {
            Duration::ZERO
        } else {
            FIRST_LOOK
        };
        Self {
            exchange,
            arrivals,
            asked,
            within: wait.within,
            patience: wait.patience,
            look_at: wait.started + first_look,
            until: wait.started + wait.within + wait.patience.grace,
            foreign: false,
        }
    }

    /// The request's id.
    #[must_use]
    pub const fn request_id(&self) -> &RequestId {
        &self.asked.request
    }

    /// The chain to which it belongs.
    #[must_use]
    pub const fn correlation_id(&self) -> &CorrelationId {
        &self.asked.correlation
    }

    /// Waits for the result, at most until the deadline and the grace beyond it; then the answer
    /// is `TIMEOUT`, made here.
    ///
    /// # Errors
    /// What stands at the result's place is no result, or the broker did not answer when it was
    /// asked for the last time.
    pub async fn result(mut self) -> Result<InvocationResult, ClientFault> {
        loop {
            let seen = tokio::select! {
                biased;
                arrival = self.arrivals.next() => match arrival {
                    Arrival::Result(message) => self.asked.see(&message)?,
                    Arrival::Reconnected => self.look_again().await?,
                },
                () = sleep_until(self.look_at.min(self.until)) => {
                    if Instant::now() >= self.until {
                        return self.give_up().await;
                    }
                    self.look_again().await?
                }
            };
            match seen {
                Seen::Answer(result) => return Ok(result),
                Seen::Foreign => self.expect_aside(),
                // Another request of the chain, or nothing yet.
                Seen::Other => {}
            }
        }
    }

    /// Looks into the stream; a broker that does not answer is asked again later.
    async fn look_again(&mut self) -> Result<Seen, ClientFault> {
        self.look_at = Instant::now() + self.patience.read_back;
        match self.look().await {
            Err(ClientFault::Broker(fault)) => {
                tracing::debug!(%fault, "result could not be looked for");
                Ok(Seen::Other)
            }
            other => other,
        }
    }

    /// What stands in the stream for us.
    async fn look(&self) -> Result<Seen, ClientFault> {
        match self.look_under(&self.asked.place).await {
            // Ours may stand aside already.
            Ok(Seen::Foreign) => match self.look_under(&self.asked.aside).await? {
                Seen::Other | Seen::Foreign => Ok(Seen::Foreign),
                Seen::Answer(result) => Ok(Seen::Answer(result)),
            },
            // Also where what stands in its place breaks the connection of whoever reads it.
            Err(fault @ ClientFault::Broker(_)) => match self.look_under(&self.asked.aside).await {
                Ok(Seen::Answer(result)) => Ok(Seen::Answer(result)),
                Ok(Seen::Other | Seen::Foreign) | Err(_) => Err(fault),
            },
            other => other,
        }
    }

    async fn look_under(&self, subject: &str) -> Result<Seen, ClientFault> {
        match self.exchange.read_result(subject).await? {
            Some(StoredResult { headers, body }) => self.asked.see(&ResultMessage {
                subject: subject.to_owned(),
                headers,
                body,
            }),
            None => Ok(Seen::Other),
        }
    }

    /// The place is another request's: the conflict's answer comes soon, or it has to be said here.
    fn expect_aside(&mut self) {
        if !self.foreign {
            self.foreign = true;
            self.until = self.until.min(Instant::now() + self.patience.grace);
        }
    }

    async fn give_up(self) -> Result<InvocationResult, ClientFault> {
        match self.look().await {
            Ok(Seen::Answer(result)) => Ok(result),
            Ok(Seen::Foreign) => Ok(self.asked.conflict()),
            Ok(Seen::Other) => Ok(self.timed_out()),
            // Whether the result is there cannot be said: that is no time-out of the request.
            Err(fault) => Err(fault),
        }
    }

    fn timed_out(&self) -> InvocationResult {
        let message = format!(
            "no result within {}; `puruto status {}` tells where it stands",
            humantime::format_duration(self.within),
            self.asked.request
        );
        self.asked
            .answered(ResultError::new(ErrorCode::Timeout, message))
    }
}
