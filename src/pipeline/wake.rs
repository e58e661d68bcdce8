//! Wake: a parent learns that its child has ended, before the child's message goes.
//!
//! A child whose parent could not be told is delivered again, found done, and told again.

use std::time::Duration;

use super::{Pipeline, patience::Patience, publish::Published, receive::Turned, trail};
use crate::{
    broker::Broker,
    contract::Spent,
    handler::crash::CrashPoint,
    store::{
        Records, StoreFault, Waits,
        kin::{ChildEnd, ChildEnded, Kin, Lineage, Woken},
    },
};

/// How long a store that does not answer is asked before the delivery goes back.
const WAKE_PATIENCE: Duration = Duration::from_secs(30);

/// A delivery whose parent could not be told comes again after this, give or take half.
const STORE_AWAY_DELAY: Duration = Duration::from_secs(2);

/// What a request that was delegated owes its parent.
#[derive(Clone, Debug)]
pub(super) struct Descent {
    pub(super) lineage: Lineage,
    /// What it spent; its record knows where nothing is said.
    pub(super) spent: Option<Spent>,
}

impl Kin {
    /// What a request that is done owes its parent, if it has one.
    pub(super) fn descent(&self) -> Option<Descent> {
        let lineage = self.lineage.clone()?;
        let spent = Some(self.spent);
        Some(Descent { lineage, spent })
    }
}

impl<B: Broker, C: Waits + Records> Pipeline<B, C> {
    pub(super) async fn wake(&self, published: Published) -> Result<Published, Turned> {
        let Some(descent) = published.descent.as_ref() else {
            return Ok(published);
        };
        self.ports.crash.reached(CrashPoint::BeforeWake);
        let mut patience = Patience::new(&self.ports.chance, Some(WAKE_PATIENCE));
        loop {
            match self.tell_parent(&published, descent).await {
                Ok(woken) => {
                    trail::child_ended(&published.asked, &descent.lineage, &woken);
                    self.ports.crash.reached(CrashPoint::AfterWake);
                    self.give_back_woken(woken).await;
                    return Ok(published);
                }
                Err(fault) => {
                    self.ports.store_faulted(&fault, "child ended");
                    if !patience.wait().await {
                        let delay = self.ports.chance.around(STORE_AWAY_DELAY, 0.5);
                        return Err(published.received.nak(delay));
                    }
                }
            }
        }
    }

    async fn tell_parent(
        &self,
        published: &Published,
        descent: &Descent,
    ) -> Result<Woken, StoreFault> {
        let spent = match descent.spent {
            Some(spent) => spent,
            None => {
                let key = std::slice::from_ref(&published.asked.key);
                let record = self.ports.claims.read(key).await?.pop().flatten();
                record.map_or_else(Spent::default, |it| it.spent)
            }
        };
        let ended = ChildEnded {
            place: descent.lineage.place,
            end: ChildEnd::Answered,
            spent,
        };
        self.ports
            .claims
            .child_ended(&descent.lineage.parent, &ended)
            .await
    }

    /// A parent that waits for nothing more is delivered at once, to whoever is free. Should that
    /// get lost, the supervisor does it.
    pub(super) async fn give_back_woken(&self, woken: Woken) {
        match woken {
            Woken::Wake(ack) => self.ports.broker.nak(&ack, Duration::ZERO).await,
            Woken::Noted | Woken::Ignored => {}
        }
    }
}
