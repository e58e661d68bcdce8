//! What was ever sent to the twin.

use std::time::Duration;

use bytes::Bytes;

use super::super::ResultMessage;
use crate::store::AckToken;

/// How a delivery was settled, or kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettlementKind {
    /// Remove it.
    Ack,
    /// Deliver it again, no sooner than after `delay`.
    Nak {
        /// Zero means at once.
        delay: Duration,
    },
    /// It is being worked on.
    Progress,
}

/// One thing that was sent about a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// The delivery.
    pub token: AckToken,
    /// What was sent.
    pub kind: SettlementKind,
}

#[derive(Default)]
pub(super) struct History {
    pub(super) settlements: Vec<Settlement>,
    pub(super) publishes: Vec<ResultMessage>,
    pub(super) replies: Vec<(String, ResultMessage)>,
    pub(super) broadcasts: Vec<(String, Bytes)>,
}

impl History {
    pub(super) fn settled(&mut self, token: &AckToken, kind: SettlementKind) {
        self.settlements.push(Settlement {
            token: token.clone(),
            kind,
        });
    }
}
