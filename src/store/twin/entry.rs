//! One request's record in the reference model.

use std::time::Duration;

use bytes::Bytes;

use super::super::{
    Attempt, Carried, ClaimAnswer, Claimed, Exhausted, FLAG_RETENTION, Nonce, Record, RecordState,
    SessionId,
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
    pub(super) first_claimed: WallTime,
}

#[derive(Debug)]
pub(super) enum State {
    Flagged,
    Held(Owner),
    Released,
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

impl Entry {
    pub(super) fn flagged(now: WallTime) -> Self {
        Self {
            state: State::Flagged,
            origin: None,
            attempts: 0,
            cancelled: true,
            last_worker: None,
            carried: Carried::default(),
            expires: now.saturating_add(FLAG_RETENTION),
        }
    }

    pub(super) const fn owner(&self) -> Option<&Owner> {
        match &self.state {
            State::Held(owner) => Some(owner),
            State::Flagged | State::Released | State::Done { .. } => None,
        }
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
        let first_claimed = self.origin.as_ref().map_or(now, |it| it.first_claimed);
        Claimed {
            attempt: Attempt::new(self.attempts),
            first_claimed,
            now,
            cancelled: self.cancelled,
            fresh,
            carried: self.carried.clone(),
        }
    }

    /// The record as a caller sees it.
    pub(super) fn seen(&self, owner_alive: bool, now: WallTime) -> Record {
        let (state, until) = match &self.state {
            State::Flagged => (RecordState::Flagged, now),
            State::Released => (RecordState::Released, now),
            State::Held(owner) => (self.seen_held(owner, owner_alive), now),
            State::Done { at, result, .. } => {
                let result = result.clone();
                (RecordState::Done { result }, *at)
            }
        };
        let first_claimed = self.origin.as_ref().map(|it| it.first_claimed);
        Record {
            state,
            correlation: self.correlation().cloned(),
            attempts: self.attempts,
            first_claimed,
            age: first_claimed.map_or(Duration::ZERO, |since| until.since(since)),
        }
    }

    fn seen_held(&self, owner: &Owner, owner_alive: bool) -> RecordState {
        RecordState::Held {
            owner: owner.session.clone(),
            owner_alive,
            cancelled: self.cancelled,
        }
    }
}
