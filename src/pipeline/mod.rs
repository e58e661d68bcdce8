//! The whole path of one delivery, in order.
//!
//! Never: a second way through. A stage consumes the ticket of the stage before it, or turns the
//! delivery back with the settlement that it is owed; `ack` alone settles.

mod ack;
mod admit;
mod approval;
mod bury;
mod claim;
mod commit;
mod park;
mod publish;
mod receive;
mod resume;
mod run;
mod wake;

mod cascade;
mod delegating;
mod events;
mod in_flight;
mod insist;
mod journal;
mod last_chance;
mod listening;
mod outcomes;
mod patience;
mod ports;
mod session;
mod slots;
mod trace;
mod trail;

use std::sync::Arc;

pub use self::{
    ack::{Left, Settled, Settlement},
    delegating::DelegationRules,
    events::EventsOf,
    in_flight::InFlight,
    last_chance::LastChances,
    ports::{EpochWatch, Ports, Served, Service},
    session::{Session, SessionWatch},
    slots::{Slot, Slots},
};
use self::{
    admit::Plan,
    claim::Claiming,
    in_flight::Flight,
    listening::Listening,
    publish::{Committed, Published},
    receive::{Received, Turned},
    run::Turn,
};
use crate::{
    broker::{Delivery, WalkBroker},
    handler::Listeners,
    store::WalkStore,
};

/// Walks deliveries from the broker to their settlement. Cheap to clone.
#[derive(Debug)]
pub struct Pipeline<B, C> {
    ports: Arc<Ports<B, C>>,
    listeners: Arc<dyn Listeners>,
}

impl<B, C> Clone for Pipeline<B, C> {
    fn clone(&self) -> Self {
        Self {
            ports: Arc::clone(&self.ports),
            listeners: Arc::clone(&self.listeners),
        }
    }
}

impl<B: WalkBroker, C: WalkStore> Pipeline<B, C> {
    /// A pipeline over these ports.
    pub fn new(ports: Ports<B, C>) -> Self {
        let ports = Arc::new(ports);
        let listeners = Arc::new(Listening(Arc::clone(&ports)));
        Self { ports, listeners }
    }

    /// Takes one delivery the whole way and settles it, whatever happened. `slot` is held until the
    /// handler has ended; `flight` keeps the broker told that the delivery is being worked on.
    pub async fn process(&self, delivery: Delivery, served: Arc<Served>, slot: Slot) -> Settled {
        served.metrics.delivered();
        let flight = self.ports.in_flight.enter(&delivery.ack);
        let received = Received { delivery, served };
        match self.walk(received, &flight, slot).await {
            Ok(published) => Box::pin(self.ack(published)).await,
            Err(turned) => Box::pin(self.turn_back(turned)).await,
        }
    }

    /// Most of a walk's life is `run`. The short stages are boxed, so that while a model thinks no
    /// room is kept for them.
    async fn walk(
        &self,
        received: Received,
        flight: &Flight,
        slot: Slot,
    ) -> Result<Published, Turned> {
        let committed = self.to_its_answer(received, flight, slot).await?;
        let published = Box::pin(self.publish(committed)).await?;
        Box::pin(self.wake(published)).await
    }

    async fn to_its_answer(
        &self,
        received: Received,
        flight: &Flight,
        slot: Slot,
    ) -> Result<Committed, Turned> {
        let admitted = self.admit(received);
        let claimed = match Box::pin(self.claim(admitted, flight)).await? {
            Claiming::Ours(claimed) => match claimed.plan {
                Plan::Discard(_) => Box::pin(self.discard(claimed)).await?,
                Plan::Run(_) | Plan::Refuse(_) => claimed,
            },
            Claiming::Deadly(deadly) => Box::pin(self.bury(deadly)).await?,
            // Its result is durable already, or it can have none of its own: only news is owed.
            Claiming::Answered(committed) => return Ok(*committed),
        };
        let claimed = Box::pin(self.approval(claimed)).await?;
        let claimed = Box::pin(self.resume(claimed)).await?;
        let ran = match self.run(claimed, slot).await? {
            Turn::Ran(ran) => *ran,
            Turn::Parking(parking) => return Err(Box::pin(self.park(*parking)).await),
        };
        Box::pin(self.commit(ran)).await
    }
}
