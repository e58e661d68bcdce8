//! Follows the results of one chain: those that stand in the stream, then those that come.

use std::{fmt, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::{Arrivals, Client, ClientFault, Exchange};
use crate::{broker::ResultMessage, contract::CorrelationId, store::Records};

/// A result can arrive a moment before it can be read: how often it is looked for then.
const EAGER_LOOKS: u32 = 5;

/// The time between two such looks.
const EAGER_PAUSE: Duration = Duration::from_millis(20);

/// The results of one chain, each once, in the order in which they were published. What arrives
/// on the subscription only says that there is something to read: the stream is what counts.
pub struct Watch<E: Exchange> {
    exchange: Arc<E>,
    arrivals: E::Arrivals,
    subjects: String,
    read_back: Duration,
    /// The last sequence that was read.
    after: u64,
    look_at: Instant,
    /// How many looks follow each other closely, because something arrived.
    eager: u32,
}

impl<E: Exchange> fmt::Debug for Watch<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("subjects", &self.subjects)
            .finish_non_exhaustive()
    }
}

impl<E: Exchange, R: Records> Client<E, R> {
    /// Follows the results of one chain from its first on.
    ///
    /// # Errors
    /// There is no connection.
    pub async fn watch(&self, correlation: &CorrelationId) -> Result<Watch<E>, ClientFault> {
        let subjects = self.settings.subjects.results_of(correlation);
        let arrivals = self.exchange.subscribe(&subjects).await?;
        Ok(Watch {
            exchange: Arc::clone(&self.exchange),
            arrivals,
            subjects,
            read_back: self.settings.patience.read_back,
            after: 0,
            look_at: Instant::now(),
            eager: 0,
        })
    }
}

impl<E: Exchange> Watch<E> {
    /// The next result; stays pending while there is none. Safe to drop and call again.
    ///
    /// # Errors
    /// The broker did not answer when the stream was read; asking again does no harm.
    pub async fn next(&mut self) -> Result<ResultMessage, ClientFault> {
        loop {
            if Instant::now() >= self.look_at
                && let Some(message) = self.look().await?
            {
                return Ok(message);
            }
            tokio::select! {
                _ = self.arrivals.next() => {
                    self.look_at = Instant::now();
                    self.eager = EAGER_LOOKS;
                }
                () = sleep_until(self.look_at) => {}
            }
        }
    }

    /// What stands next in the stream; where nothing does, the time of the next look is set.
    async fn look(&mut self) -> Result<Option<ResultMessage>, ClientFault> {
        let next = self
            .exchange
            .next_result(&self.subjects, self.after)
            .await?;
        if let Some(next) = next {
            self.after = next.sequence;
            return Ok(Some(next.message));
        }
        let pause = match self.eager.checked_sub(1) {
            Some(left) => {
                self.eager = left;
                EAGER_PAUSE
            }
            None => self.read_back,
        };
        self.look_at = Instant::now() + pause;
        Ok(None)
    }
}
