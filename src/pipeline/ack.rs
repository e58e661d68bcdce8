//! Ack: the broker is told once, and last. The only place that settles.

use std::time::Duration;

use tracing::Instrument as _;

use super::{Pipeline, patience::Patience, publish::Published, receive::Turned, trail};
use crate::{
    broker::{AckFault, Delivery, WalkBroker},
    store::{Carried, Nonce, RequestKey, WalkStore},
    telemetry::labels::SettlementKind,
};

/// How long an ack is repeated that the broker does not confirm. After that a redelivery finds the
/// request done and acks again.
const ACK_PATIENCE: Duration = Duration::from_secs(20);

/// How long a claim is tried to be given back.
const RELEASE_PATIENCE: Duration = Duration::from_secs(2);

/// What a delivery that goes back is owed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// Deliver again, no sooner than this.
    Nak(Duration),
    /// Say nothing: another worker owns the request, or will after the ack wait.
    Lapse,
    /// Give the claim back if it was made, then deliver again.
    HandOver {
        /// The request.
        key: RequestKey,
        /// The claim, and what it leaves.
        left: Left,
        /// No sooner than this.
        delay: Duration,
    },
}

/// A claim that is given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The claim.
    pub nonce: Nonce,
    /// What the next worker is told.
    pub carried: Carried,
}

impl From<Nonce> for Left {
    /// A claim under which nothing has happened.
    fn from(nonce: Nonce) -> Self {
        Self {
            nonce,
            carried: Carried::default(),
        }
    }
}

/// How a delivery left the pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Its result stands; the broker has confirmed that it is gone.
    Acked {
        /// The request whose record can be shrunk now, see [`Pipeline::tidy`]; none for an answer
        /// that has no record of its own.
        tidy: Option<RequestKey>,
    },
    /// Its result stands; the broker has not confirmed, so it may come again.
    Unconfirmed,
    /// It comes again.
    GivenBack,
    /// Nothing was said about it.
    Lapsed,
}

impl<B: WalkBroker, C: WalkStore> Pipeline<B, C> {
    pub(super) async fn ack(&self, published: Published) -> Settled {
        let token = &published.received.delivery.ack;
        let mut patience = Patience::new(&self.ports.chance, Some(ACK_PATIENCE));
        loop {
            let span = published
                .asked
                .trace
                .settling(&published.received.delivery.subject);
            match self.ports.broker.ack(token).instrument(span).await {
                Ok(()) => break,
                Err(AckFault::NoConsumer { .. }) => {
                    tracing::warn!(?token, "the consumer is gone; the message will come again");
                    return Settled::Unconfirmed;
                }
                Err(AckFault::TimedOut { .. } | AckFault::NotRemoved(_))
                    if patience.wait().await => {}
                Err(AckFault::TimedOut { .. } | AckFault::NotRemoved(_)) => {
                    return Settled::Unconfirmed;
                }
            }
        }
        published
            .received
            .served
            .metrics
            .settled(SettlementKind::Ack);
        trail::acked(&published.asked);
        Settled::Acked {
            tidy: published.settles.then_some(published.asked.key),
        }
    }

    /// Shrinks the record of a request that is published and acked. Nobody waits for it: it goes
    /// out with others, some moments later.
    pub async fn tidy(&self, key: &RequestKey) {
        if let Err(fault) = self.ports.claims.settle(key).await {
            // The record keeps its bytes until it expires; nothing else is lost.
            self.ports.store_faulted(&fault, "settle");
        }
    }

    /// Gives a claim back. One that cannot be given back would be held by a live session while
    /// nobody works on it: then the session ends, and all its claims with it.
    async fn release(&self, key: &RequestKey, left: &Left) {
        let mut patience = Patience::new(&self.ports.chance, Some(RELEASE_PATIENCE));
        while let Err(fault) = self
            .ports
            .claims
            .release(key, left.nonce, &left.carried)
            .await
        {
            self.ports.store_faulted(&fault, "release");
            if !patience.wait().await {
                if let Some(session) = self.ports.sessions.current() {
                    session.fence();
                }
                return;
            }
        }
    }

    /// A delivery that came without a free slot goes elsewhere at once.
    pub async fn give_back(&self, delivery: &Delivery) {
        self.ports.broker.nak(&delivery.ack, Duration::ZERO).await;
    }

    pub(super) async fn turn_back(&self, turned: Turned) -> Settled {
        let Turned {
            received,
            settlement,
        } = turned;
        let delay = match settlement {
            Settlement::Lapse => return Settled::Lapsed,
            Settlement::Nak(delay) => delay,
            Settlement::HandOver { key, left, delay } => {
                self.release(&key, &left).await;
                delay
            }
        };
        received.served.metrics.settled(SettlementKind::Nak);
        self.ports.broker.nak(&received.delivery.ack, delay).await;
        Settled::GivenBack
    }
}
