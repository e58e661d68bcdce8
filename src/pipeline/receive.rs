//! Receive: a delivery that this worker owns until it is settled.

use std::{sync::Arc, time::Duration};

use super::{Left, Served, Settlement};
use crate::{broker::Delivery, store::RequestKey};

/// A delivery and the target that serves it.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) delivery: Delivery,
    pub(super) served: Arc<Served>,
}

/// A delivery that goes back, and how.
#[derive(Debug)]
pub(super) struct Turned {
    pub(super) received: Received,
    pub(super) settlement: Settlement,
}

impl Received {
    /// To be delivered again, no sooner than `delay`.
    pub(super) const fn nak(self, delay: Duration) -> Turned {
        Turned {
            received: self,
            settlement: Settlement::Nak(delay),
        }
    }

    /// Somebody else may own it by now: nothing is said about it any more.
    pub(super) const fn lapse(self) -> Turned {
        Turned {
            received: self,
            settlement: Settlement::Lapse,
        }
    }

    /// Its claim, if it was made, is given back; then it is delivered elsewhere, no sooner than
    /// `delay`.
    pub(super) const fn hand_over(self, key: RequestKey, left: Left, delay: Duration) -> Turned {
        Turned {
            received: self,
            settlement: Settlement::HandOver { key, left, delay },
        }
    }
}
