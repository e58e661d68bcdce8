//! Follows the results of one chain: those that stand in the stream, then those that come.

use std::{
    collections::{HashSet, VecDeque},
    fmt,
    sync::Arc,
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

use super::{Arrival, Arrivals, Client, ClientFault, Exchange};
use crate::{broker::ResultMessage, contract::CorrelationId, store::Records};

/// The results of one chain, each once.
pub struct Watch<E: Exchange> {
    exchange: Arc<E>,
    arrivals: E::Arrivals,
    chain: CorrelationId,
    read_back: Duration,
    /// Subjects whose results are known: there is one result a subject.
    known: HashSet<String>,
    /// Read, and not handed out yet.
    ready: VecDeque<ResultMessage>,
    look_at: Instant,
}

impl<E: Exchange> fmt::Debug for Watch<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watch").field(&self.chain).finish()
    }
}

impl<E: Exchange, R: Records> Client<E, R> {
    /// Follows the results of one chain from its first on.
    ///
    /// # Errors
    /// There is no connection.
    pub async fn watch(&self, chain: &CorrelationId) -> Result<Watch<E>, ClientFault> {
        let arrivals = self.exchange.subscribe(chain).await?;
        Ok(Watch {
            exchange: Arc::clone(&self.exchange),
            arrivals,
            chain: chain.clone(),
            read_back: self.settings.patience.read_back,
            known: HashSet::new(),
            ready: VecDeque::new(),
            look_at: Instant::now(),
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
            if let Some(message) = self.ready.pop_front() {
                return Ok(message);
            }
            tokio::select! {
                biased;
                () = sleep_until(self.look_at) => self.look().await?,
                arrival = self.arrivals.next() => match arrival {
                    Arrival::Result(message) => self.take(message),
                    Arrival::Reconnected => self.look_at = Instant::now(),
                },
            }
        }
    }

    /// Reads what stands in the stream: at first, and for what was missed.
    async fn look(&mut self) -> Result<(), ClientFault> {
        let stored = self.exchange.stored_results(&self.chain).await?;
        stored.into_iter().for_each(|message| self.take(message));
        self.look_at = Instant::now() + self.read_back;
        Ok(())
    }

    fn take(&mut self, message: ResultMessage) {
        if self.known.insert(message.subject.clone()) {
            self.ready.push_back(message);
        }
    }
}
