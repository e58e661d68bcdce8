//! Requests that ask others, as the suites make them.

use std::time::Duration;

use bytes::Bytes;
use puruto_fleet::{
    clock::{Clock, WallTime},
    contract::{Ancestry, ChildPlace, Deadline, Fingerprint, Hop, Limits, Micros, Spent, Step},
    store::{
        AckToken, Claims, Nonce, Records, RequestKey, Sessions, Waits,
        kin::{
            Child, ChildEnd, ChildEnded, Intended, Intent, LetGo, Lineage, Owned, Park, ParkAnswer,
            Resting, Woken,
        },
    },
};

use super::world::{Worker, request};

/// What each child may spend, unless a test says otherwise.
pub(super) const SLICE: Limits = Limits {
    requests: Some(10),
    tokens: Some(1_000),
    cost: Some(Micros(500)),
    descendants: Some(4),
};

/// The child of the request `parent` in a place.
pub(super) fn child(parent: &RequestKey, step: u32, index: u16) -> Child {
    let place = ChildPlace {
        step: Step::new(step),
        index,
    };
    let id = place.child_of(&parent.target, &parent.request);
    Child {
        place,
        key: request(id.as_str()),
        action: "ask".parse().expect("a name"),
        fingerprint: Fingerprint::of_bytes(b"a question"),
        limits: SLICE,
        deadline: far_off(),
    }
}

pub(super) fn far_off() -> Deadline {
    Deadline::of(
        WallTime::from_unix_millis(4_000_000_000_000),
        Duration::ZERO,
        None,
    )
}

pub(super) fn message(index: u16) -> Bytes {
    Bytes::from(format!("message {index}"))
}

/// A delegation to so many children, of which `join` are waited for.
pub(super) fn park(parent: &RequestKey, step: u32, children: u16, join: u16) -> Park {
    let children = (0..children).map(|index| (child(parent, step, index), message(index)));
    Park {
        step: Step::new(step),
        join,
        children: children.collect(),
    }
}

pub(super) fn owned(key: &RequestKey, nonce: Nonce) -> Owned {
    let key = key.clone();
    Owned { key, nonce }
}

/// Rests for an hour unless it is woken.
pub(super) fn resting(ack: &str) -> Resting {
    resting_for(ack, Duration::from_secs(3_600))
}

pub(super) fn resting_for(ack: &str, look_in: Duration) -> Resting {
    Resting {
        ack: AckToken::new(ack),
        deadline: far_off(),
        look_at: Clock::system().now().saturating_add(look_in),
    }
}

pub(super) fn lineage(parent: &RequestKey, child: &Child) -> Lineage {
    Lineage {
        parent: parent.clone(),
        place: child.place,
        root: parent.clone(),
        hop: Hop::default(),
        ancestry: Ancestry::default(),
        limits: child.limits,
    }
}

pub(super) fn intent(parent: &RequestKey, child: &Child) -> Intent {
    Intent {
        child: child.clone(),
        correlation: "chain-1".parse().expect("an id"),
        lineage: lineage(parent, child),
    }
}

impl<S: Claims + Sessions + Records + Waits> Worker<S> {
    /// Claims a request and leaves it waiting for so many children, of which `join` are enough.
    pub(super) async fn leave_waiting(&self, key: &RequestKey, children: u16, join: u16) -> Nonce {
        let (nonce, _) = self.take(key).await;
        self.park(key, nonce, &park(key, 0, children, join)).await;
        let let_go = self.let_go(key, nonce).await;
        assert_eq!(let_go, LetGo::Waiting);
        nonce
    }

    pub(super) async fn park(&self, key: &RequestKey, nonce: Nonce, park: &Park) {
        let parked = self.store.park(&owned(key, nonce), park).await;
        assert_eq!(parked, Ok(ParkAnswer::Parked));
    }

    pub(super) async fn let_go(&self, key: &RequestKey, nonce: Nonce) -> LetGo {
        let owned = owned(key, nonce);
        let let_go = self.store.let_go(&owned, &resting("$JS.ACK.2")).await;
        let_go.expect("an answer")
    }

    /// Tells a parent that its child ended without having spent anything.
    pub(super) async fn tell(&self, parent: &RequestKey, child: &Child) -> Woken {
        self.tell_spent(parent, child, Spent::default()).await
    }

    pub(super) async fn tell_spent(
        &self,
        parent: &RequestKey,
        child: &Child,
        spent: Spent,
    ) -> Woken {
        let ended = ChildEnded {
            place: child.place,
            end: ChildEnd::Answered,
            spent,
        };
        let told = self.store.child_ended(parent, &ended).await;
        told.expect("an answer")
    }

    pub(super) async fn intend(&self, parent: &RequestKey, child: &Child) -> Intended {
        let intended = self.store.intend(&intent(parent, child)).await;
        intended.expect("an answer")
    }
}
