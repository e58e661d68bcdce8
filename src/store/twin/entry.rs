//! One request's record in the reference model.

use std::time::Duration;

use bytes::Bytes;

use super::{
    super::{
        AckToken, Attempt, Carried, ClaimAnswer, Claimed, Exhausted, FLAG_RETENTION, Nonce, Record,
        RecordState, SessionId,
        kin::{Owned, WaitsOn},
    },
    relations::Relations,
};
use crate::{
    clock::WallTime,
    contract::{CorrelationId, Fingerprint},
};

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) state: State,
    /// None while the request is only flagged for cancel.
    pub(super) origin: Option<Origin>,
    pub(super) kin: Relations,
    pub(super) attempts: u32,
    pub(super) cancelled: bool,
    /// Who had the last execution that may be; some once the request is exhausted.
    pub(super) last_worker: Option<Box<str>>,
    /// What its last release left for the next claim.
    pub(super) carried: Carried,
    pub(super) expires: WallTime,
}

#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) fingerprint: Fingerprint,
    pub(super) correlation: CorrelationId,
    /// None while nobody has claimed it.
    pub(super) first_claimed: Option<WallTime>,
}

#[derive(Debug)]
pub(super) enum State {
    Intended,
    Flagged,
    Held(Owner),
    Released,
    Waiting(Waiting),
    Done {
        at: WallTime,
        /// Who committed; gone once the record is a tombstone.
        owner: Option<Owner>,
        result: Option<Bytes>,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub(super) session: SessionId,
    pub(super) nonce: Nonce,
    pub(super) fresh: bool,
    /// What people call the owner: the worker, but after a first claim the session.
    pub(super) called: Box<str>,
}

/// How a request waits without an owner.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) on: WaitsOn,
    pub(super) ack: AckToken,
    pub(super) deadline: WallTime,
    pub(super) look_at: WallTime,
    /// The claim that let go of it.
    pub(super) rest: Nonce,
}

impl Entry {
    pub(super) fn flagged(now: WallTime) -> Self {
        Self {
            state: State::Flagged,
            cancelled: true,
            ..Self::intended(now.saturating_add(FLAG_RETENTION))
        }
    }

    pub(super) fn intended(expires: WallTime) -> Self {
        Self {
            state: State::Intended,
            origin: None,
            kin: Relations::default(),
            attempts: 0,
            cancelled: false,
            last_worker: None,
            carried: Carried::default(),
            expires,
        }
    }

    pub(super) const fn owner(&self) -> Option<&Owner> {
        match &self.state {
            State::Held(owner) => Some(owner),
            State::Intended
            | State::Flagged
            | State::Released
            | State::Waiting(_)
            | State::Done { .. } => None,
        }
    }

    pub(super) fn is_owned(&self, owned: &Owned) -> bool {
        self.owner().is_some_and(|it| it.nonce == owned.nonce)
    }

    /// Who had its last execution, where one is over that was not given back.
    pub(super) fn had_by(&self) -> Option<Box<str>> {
        let last = self.last_worker.clone();
        last.or_else(|| self.owner().map(|it| it.called.clone()))
    }

    pub(super) fn correlation(&self) -> Option<&CorrelationId> {
        self.origin.as_ref().map(|it| &it.correlation)
    }

    pub(super) fn origin_of_other(&self, fingerprint: Fingerprint) -> Option<&Origin> {
        let origin = self.origin.as_ref();
        origin.filter(|it| it.fingerprint != fingerprint)
    }

    /// What the claim that holds the record is answered.
    pub(super) fn granted(&self, fresh: bool, now: WallTime) -> ClaimAnswer {
        let claimed = self.claimed(fresh, now);
        match self.last_worker.clone() {
            None => ClaimAnswer::Claimed(claimed),
            Some(last_worker) => ClaimAnswer::Exhausted(Exhausted {
                claimed: Claimed {
                    carried: Carried::default(),
                    ..claimed
                },
                last_worker,
            }),
        }
    }

    fn claimed(&self, fresh: bool, now: WallTime) -> Claimed {
        let origin = self.origin.as_ref();
        let first_claimed = origin.and_then(|it| it.first_claimed).unwrap_or(now);
        Claimed {
            attempt: Attempt::new(self.attempts),
            first_claimed,
            now,
            cancelled: self.cancelled,
            fresh,
            carried: self.carried.clone(),
            kin: self.kin.told(),
        }
    }

    /// The record as a caller sees it.
    pub(super) fn seen(&self, owner_alive: bool, now: WallTime) -> Record {
        let (state, until) = match &self.state {
            State::Intended => (RecordState::Intended, now),
            State::Flagged => (RecordState::Flagged, now),
            State::Waiting(it) => (self.seen_waiting(it.on), now),
            State::Released => (RecordState::Released, now),
            State::Held(owner) => (self.seen_held(owner, owner_alive), now),
            State::Done { at, result, .. } => {
                let result = result.clone();
                (RecordState::Done { result }, *at)
            }
        };
        let first_claimed = self.origin.as_ref().and_then(|it| it.first_claimed);
        Record {
            state,
            correlation: self.correlation().cloned(),
            attempts: self.attempts,
            first_claimed,
            age: first_claimed.map_or(Duration::ZERO, |since| until.since(since)),
            lineage: self.kin.lineage.clone(),
            spent: self.kin.spent,
            verdict: self.kin.verdict.clone(),
        }
    }

    const fn seen_waiting(&self, on: WaitsOn) -> RecordState {
        let cancelled = self.cancelled;
        RecordState::Waiting { on, cancelled }
    }

    fn seen_held(&self, owner: &Owner, owner_alive: bool) -> RecordState {
        RecordState::Held {
            owner: owner.session.clone(),
            owner_alive,
            cancelled: self.cancelled,
        }
    }
}
