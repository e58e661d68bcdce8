//! What the supervisor's scripts do, as part of the reference model.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use super::{
    super::{AckToken, Nonce, Registered, RequestKey, SessionId},
    data::Data,
};
use crate::{clock::WallTime, contract::PurutoName};

/// How much one eviction tells of what a session holds.
const TOLD_MAX: usize = 64;

/// Who was opened and not yet forgotten, and who leads.
#[derive(Debug, Default)]
pub(super) struct Roster {
    registered: HashMap<SessionId, Vec<PurutoName>>,
    answering: HashSet<SessionId>,
    leader: Option<(SessionId, WallTime)>,
}

impl Roster {
    pub(super) fn register(&mut self, session: &SessionId, targets: &[PurutoName]) {
        self.registered.insert(session.clone(), targets.to_vec());
    }
}

impl Data {
    pub(super) fn lead(&mut self, candidate: &SessionId, lease: Duration, now: WallTime) -> bool {
        let leader = self.roster.leader.as_ref();
        if leader.is_some_and(|(leader, until)| leader != candidate && now < *until) {
            return false;
        }
        self.roster.leader = Some((candidate.clone(), now.saturating_add(lease)));
        true
    }

    pub(super) fn answers_pings(&mut self, session: &SessionId, now: WallTime) {
        if self.alive(session, now) {
            self.roster.answering.insert(session.clone());
        }
    }

    pub(super) fn roster(&self, now: WallTime) -> Vec<Registered> {
        let registered = self.roster.registered.keys();
        let roster = registered.map(|session| Registered {
            session: session.clone(),
            lives: self.alive(session, now),
            answers_pings: self.roster.answering.contains(session),
        });
        roster.collect()
    }

    pub(super) fn claims_of(&self, session: &SessionId) -> Vec<(RequestKey, Nonce)> {
        let held = self.held.get(session).into_iter().flat_map(|it| it.keys());
        let claims = held.filter_map(|key| {
            let owner = self.records.get(key)?.owner()?;
            (owner.session == *session).then(|| (key.clone(), owner.nonce))
        });
        claims.collect()
    }

    pub(super) fn serving(&self, sessions: &[SessionId]) -> Vec<Vec<PurutoName>> {
        let registered = &self.roster.registered;
        let serving = sessions.iter().map(|it| registered.get(it).cloned());
        serving.map(Option::unwrap_or_default).collect()
    }

    pub(super) fn evict(
        &mut self,
        session: &SessionId,
        given_back: &[RequestKey],
    ) -> Vec<(RequestKey, AckToken)> {
        self.end(session);
        let held = self.held.entry(session.clone()).or_default();
        for key in given_back {
            held.remove(key);
        }
        let left = held.iter().take(TOLD_MAX);
        let left = left.map(|(key, ack)| (key.clone(), ack.clone())).collect();
        self.forget_if_empty(session);
        left
    }

    pub(super) fn end(&mut self, session: &SessionId) {
        self.sessions.remove(session);
        self.roster.answering.remove(session);
    }

    pub(super) fn forget_if_empty(&mut self, session: &SessionId) {
        if self.held.get(session).is_none_or(|held| held.is_empty()) {
            self.roster.registered.remove(session);
        }
    }
}
