//! What the scripts do, as a reference model: one method a script, each one step.
//!
//! Never: a fault, a lock, or a clock of its own.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use bytes::Bytes;

use super::{
    super::{
        AckToken, Attempt, CancelAnswer, Carried, Claim, ClaimAnswer, Commit, CommitAnswer, Epoch,
        Held, MAX_ATTEMPTS, Nonce, RETENTION, Record, Renewal, RequestKey, SessionId,
        run::RunStatus,
    },
    circuits::Board,
    entry::{Entry, Origin, Owner, State},
    executions::Started,
    runs::AgentRun,
    supervision::Roster,
};
use crate::{
    clock::WallTime,
    contract::{CorrelationId, PurutoName},
};

#[derive(Debug)]
pub(super) struct Data {
    session_ttl: Duration,
    /// How often the data set was emptied, which makes its epoch.
    emptied: u64,
    pub(super) max_attempts: Attempt,
    pub(super) sessions: HashMap<SessionId, Life>,
    pub(super) roster: Roster,
    pub(super) board: Board,
    pub(super) started: Started,
    pub(super) held: HashMap<SessionId, BTreeMap<RequestKey, AckToken>>,
    pub(super) records: HashMap<RequestKey, Entry>,
    pub(super) runs: HashMap<RequestKey, AgentRun>,
    /// The requests that a chain is known to begin with.
    pub(super) chains: HashMap<CorrelationId, BTreeSet<RequestKey>>,
    pub(super) targets: BTreeSet<PurutoName>,
    pub(super) granted: Vec<(RequestKey, Nonce, Attempt)>,
    pub(super) committed: Vec<(RequestKey, Nonce, Bytes)>,
    pub(super) corrected: Vec<(RequestKey, Bytes)>,
}

/// A session that was opened and not ended.
#[derive(Debug)]
pub(super) struct Life {
    worker: Box<str>,
    expires: WallTime,
}

impl Data {
    pub(super) fn new(session_ttl: Duration) -> Self {
        Self {
            session_ttl,
            emptied: 0,
            max_attempts: MAX_ATTEMPTS,
            sessions: HashMap::new(),
            roster: Roster::default(),
            board: Board::default(),
            started: Started::default(),
            held: HashMap::new(),
            records: HashMap::new(),
            runs: HashMap::new(),
            chains: HashMap::new(),
            targets: BTreeSet::new(),
            granted: Vec::new(),
            committed: Vec::new(),
            corrected: Vec::new(),
        }
    }

    pub(super) fn empty(&mut self) {
        self.emptied += 1;
        self.sessions.clear();
        self.roster = Roster::default();
        self.board = Board::default();
        self.started = Started::default();
        self.held.clear();
        self.records.clear();
        self.runs.clear();
        self.chains.clear();
        self.targets.clear();
    }

    pub(super) fn open(
        &mut self,
        session: &SessionId,
        worker: &str,
        targets: &[PurutoName],
        now: WallTime,
    ) -> Epoch {
        self.targets.extend(targets.iter().cloned());
        let life = Life {
            worker: worker.into(),
            expires: now.saturating_add(self.session_ttl),
        };
        self.sessions.insert(session.clone(), life);
        self.roster.register(session, targets);
        Epoch::recorded(&format!("{:032x}", self.emptied))
    }

    pub(super) fn renew(&mut self, session: &SessionId, now: WallTime) -> Renewal {
        match self.sessions.get_mut(session) {
            Some(life) if now < life.expires => {
                life.expires = now.saturating_add(self.session_ttl);
            }
            Some(_) | None => return Renewal::Fenced,
        }
        let mut cancelled = self.held_by(session);
        cancelled.retain(|key| self.is_to_abort(key));
        Renewal::Renewed { cancelled }
    }

    pub(super) fn close(&mut self, session: &SessionId) {
        self.end(session);
        self.forget_if_empty(session);
    }

    pub(super) fn expire(&mut self, session: &SessionId) {
        self.sessions.remove(session);
    }

    pub(super) fn claim(&mut self, claim: &Claim, now: WallTime) -> ClaimAnswer {
        if !self.alive(&claim.session, now) {
            return ClaimAnswer::Fenced;
        }
        let Some(entry) = self.entry(&claim.key, now) else {
            return self.take(claim, true, now);
        };
        if let Some(origin) = entry.origin_of_other(claim.fingerprint) {
            let correlation = origin.correlation.clone();
            return ClaimAnswer::Conflict { correlation };
        }
        match &entry.state {
            State::Intended => self.take(claim, true, now),
            State::Flagged | State::Released => self.take(claim, false, now),
            State::Waiting(_) => self.claim_waiting(claim, now),
            State::Done { result, .. } => ClaimAnswer::Done {
                result: result.clone(),
                correlation: entry.correlation().unwrap_or(&claim.correlation).clone(),
                attempt: Attempt::new(entry.attempts),
                kin: entry.kin.told(),
            },
            State::Held(owner) if owner.nonce == claim.nonce => entry.granted(owner.fresh, now),
            State::Held(owner) if self.alive(&owner.session, now) => {
                let owner = owner.session.clone();
                ClaimAnswer::Held(Held { owner })
            }
            State::Held(_) => self.take(claim, false, now),
        }
    }

    /// Makes `claim` the request's owner, whoever had it before.
    pub(super) fn take(&mut self, claim: &Claim, fresh: bool, now: WallTime) -> ClaimAnswer {
        self.drop_held(&claim.key);
        let before = self.records.remove(&claim.key);
        let mut before = before.filter(|it| now < it.expires);
        let kin = before.as_mut().map(|it| std::mem::take(&mut it.kin));
        let kept = before
            .as_ref()
            .and_then(|it| it.origin.as_ref()?.first_claimed);
        let attempts = before.as_ref().map_or(0, |it| it.attempts);
        let carried = before.as_ref().map(|it| it.carried.clone());
        let last_worker = before.as_ref().and_then(Entry::had_by);
        let last_worker = last_worker.filter(|_| attempts >= self.max_attempts.number());
        let entry = Entry {
            state: State::Held(Owner {
                session: claim.session.clone(),
                nonce: claim.nonce,
                fresh,
                called: self.called(&claim.session, fresh),
            }),
            origin: Some(Origin {
                fingerprint: claim.fingerprint,
                correlation: claim.correlation.clone(),
                first_claimed: Some(kept.unwrap_or(now)),
            }),
            kin: kin.unwrap_or_default(),
            attempts: attempts + u32::from(last_worker.is_none()),
            cancelled: before.is_some_and(|it| it.cancelled),
            last_worker,
            carried: carried.unwrap_or_default(),
            expires: now.saturating_add(claim.deadline.left(now) + RETENTION),
        };
        let granted = entry.granted(fresh, now);
        let attempt = Attempt::new(entry.attempts);
        self.granted.push((claim.key.clone(), claim.nonce, attempt));
        self.records.insert(claim.key.clone(), entry);
        let held = self.held.entry(claim.session.clone()).or_default();
        held.insert(claim.key.clone(), claim.ack.clone());
        granted
    }

    /// A first claim does not note its worker, so that the record of most requests stays small.
    fn called(&self, session: &SessionId, fresh: bool) -> Box<str> {
        let life = self.sessions.get(session).filter(|_| !fresh);
        life.map_or_else(|| session.as_str().into(), |life| life.worker.clone())
    }

    pub(super) fn commit(
        &mut self,
        key: &RequestKey,
        nonce: Nonce,
        commit: &Commit,
        now: WallTime,
    ) -> CommitAnswer {
        let Some(entry) = self.entry_mut(key, now) else {
            return CommitAnswer::Lost;
        };
        match &entry.state {
            State::Done { owner, .. } if owner.as_ref().is_some_and(|it| it.nonce == nonce) => {
                CommitAnswer::Committed
            }
            State::Held(owner) if owner.nonce == nonce => {
                if entry.cancelled && !commit.cancelled {
                    return CommitAnswer::Cancelled;
                }
                entry.state = State::Done {
                    at: now,
                    owner: Some(owner.clone()),
                    result: Some(commit.result.clone()),
                };
                entry.kin.commit(commit.spent);
                let committed = (key.clone(), nonce, commit.result.clone());
                self.committed.push(committed);
                let how = match commit.cancelled {
                    true => RunStatus::Cancelled,
                    false => RunStatus::Failed,
                };
                self.end_run(key, how, now);
                CommitAnswer::Committed
            }
            State::Done { .. }
            | State::Held(_)
            | State::Intended
            | State::Flagged
            | State::Released
            | State::Waiting(_) => CommitAnswer::Lost,
        }
    }

    pub(super) fn settle(&mut self, key: &RequestKey, now: WallTime) {
        let Some(entry) = self.entry_mut(key, now) else {
            return;
        };
        if let State::Done { owner, result, .. } = &mut entry.state
            && owner.is_some()
        {
            (*owner, *result) = (None, None);
            entry.cancelled = false;
            self.drop_held(key);
        }
    }

    pub(super) fn release(
        &mut self,
        key: &RequestKey,
        nonce: Nonce,
        carried: &Carried,
        now: WallTime,
    ) {
        let Some(entry) = self.entry_mut(key, now) else {
            return;
        };
        if entry.owner().is_some_and(|it| it.nonce == nonce) {
            entry.state = State::Released;
            if *carried != Carried::default() {
                entry.carried = carried.clone();
            }
            if entry.last_worker.is_none() {
                entry.attempts = entry.attempts.saturating_sub(1);
            }
            self.drop_held(key);
        }
    }

    pub(super) fn correct(&mut self, key: &RequestKey, published: Bytes, now: WallTime) {
        let Some(entry) = self.entry_mut(key, now) else {
            return;
        };
        // A tombstone has no bytes that could be wrong.
        if let State::Done {
            result: Some(result),
            ..
        } = &mut entry.state
            && *result != published
        {
            *result = published.clone();
            self.corrected.push((key.clone(), published));
        }
    }

    pub(super) fn cancel(&mut self, key: &RequestKey, now: WallTime) -> CancelAnswer {
        let is_over = self.has_ended_run(key);
        let answer = self.flag(key, is_over, now);
        match answer {
            CancelAnswer::Flagged | CancelAnswer::Waiting(_) => {
                self.end_run(key, RunStatus::Cancelled, now);
            }
            CancelAnswer::Owned(_) | CancelAnswer::AlreadyDone => {}
        }
        answer
    }

    fn flag(&mut self, key: &RequestKey, is_over: bool, now: WallTime) -> CancelAnswer {
        let Some(entry) = self.entry_mut(key, now) else {
            self.records.insert(key.clone(), Entry::flagged(now));
            return CancelAnswer::Flagged;
        };
        if is_over || matches!(entry.state, State::Done { .. }) {
            return CancelAnswer::AlreadyDone;
        }
        entry.cancelled = true;
        match &mut entry.state {
            State::Intended => entry.state = State::Flagged,
            State::Waiting(waiting) => {
                waiting.look_at = WallTime::from_unix_millis(0);
                return CancelAnswer::Waiting(entry.kin.running());
            }
            State::Flagged | State::Held(_) | State::Released | State::Done { .. } => {}
        }
        match entry.owner().map(|it| it.session.clone()) {
            Some(owner) if self.alive(&owner, now) => CancelAnswer::Owned(owner),
            _ => CancelAnswer::Flagged,
        }
    }

    pub(super) fn read(&self, key: &RequestKey, now: WallTime) -> Option<Record> {
        let entry = self.entry(key, now)?;
        let owner_alive = entry.owner().is_some_and(|it| self.alive(&it.session, now));
        Some(entry.seen(owner_alive, now))
    }

    pub(super) fn held_by(&self, session: &SessionId) -> Vec<RequestKey> {
        let held = self.held.get(session);
        held.into_iter().flat_map(BTreeMap::keys).cloned().collect()
    }

    pub(super) fn alive(&self, session: &SessionId, now: WallTime) -> bool {
        self.sessions
            .get(session)
            .is_some_and(|life| now < life.expires)
    }

    fn is_to_abort(&self, key: &RequestKey) -> bool {
        let record = self.records.get(key);
        record.is_some_and(|it| it.cancelled && it.owner().is_some())
    }

    pub(super) fn entry(&self, key: &RequestKey, now: WallTime) -> Option<&Entry> {
        self.records.get(key).filter(|it| now < it.expires)
    }

    pub(super) fn entry_mut(&mut self, key: &RequestKey, now: WallTime) -> Option<&mut Entry> {
        self.records.get_mut(key).filter(|it| now < it.expires)
    }

    pub(super) fn drop_held(&mut self, key: &RequestKey) {
        for held in self.held.values_mut() {
            held.remove(key);
        }
    }
}
