//! What the scripts of waiting requests do, as part of the reference model.

use std::time::Duration;

use bytes::Bytes;

use super::{
    super::{
        Claim, ClaimAnswer, LOOK_AGAIN, RETENTION, RequestKey, StoreFault, Waits,
        kin::{
            Child, ChildEnded, Due, DueFor, Intended, Intent, LetGo, Owned, Park, ParkAnswer,
            Resting, Verdict, VerdictAnswer, Wait, WaitsOn, Woken,
        },
        run::RunStatus,
    },
    Op, StoreTwin,
    data::Data,
    entry::{Entry, Origin, State, Waiting},
};
use crate::{
    clock::{Clock, WallTime},
    contract::{CorrelationId, Step},
};

impl Data {
    fn owned(&mut self, owned: &Owned, now: WallTime) -> Option<&mut Entry> {
        let entry = self.entry_mut(&owned.key, now);
        entry.filter(|it| it.is_owned(owned))
    }

    fn park(&mut self, owned: &Owned, park: &Park, now: WallTime) -> ParkAnswer {
        match self.owned(owned, now) {
            None => ParkAnswer::Lost,
            Some(entry) if entry.cancelled => ParkAnswer::Cancelled,
            Some(entry) => {
                if entry.kin.park(park) {
                    self.move_run(&owned.key, RunStatus::Waiting);
                }
                ParkAnswer::Parked
            }
        }
    }

    fn intend(&mut self, intent: &Intent, now: WallTime) -> Intended {
        let Intent {
            child,
            correlation,
            lineage,
        } = intent;
        if self.entry(&child.key, now).is_none() {
            let entry = Entry::intended(now.saturating_add(child.deadline.left(now) + RETENTION));
            self.records.insert(child.key.clone(), entry);
        }
        let Some(entry) = self.entry_mut(&child.key, now) else {
            // Its deadline and its retention have passed.
            return Intended::Expected;
        };
        if entry.origin_of_other(child.fingerprint).is_some() {
            return Intended::Conflict;
        }
        entry.kin.lineage.get_or_insert_with(|| lineage.clone());
        entry.origin.get_or_insert_with(|| Origin {
            fingerprint: child.fingerprint,
            correlation: correlation.clone(),
            first_claimed: None,
        });
        match entry.state {
            State::Done { .. } => Intended::Done,
            State::Intended
            | State::Flagged
            | State::Held(_)
            | State::Released
            | State::Waiting(_) => Intended::Expected,
        }
    }

    fn let_go(&mut self, owned: &Owned, resting: &Resting, now: WallTime) -> LetGo {
        if let Some(entry) = self.owned(owned, now)
            && let Some(delegated) = &mut entry.kin.delegation
        {
            delegated.wait.sent = true;
            delegated.messages.clear();
        }
        let is_there = |entry: &Entry| entry.kin.is_ready();
        self.rest(owned, WaitsOn::Children, resting, is_there, now)
    }

    fn rest(
        &mut self,
        owned: &Owned,
        on: WaitsOn,
        resting: &Resting,
        is_there: impl FnOnce(&Entry) -> bool,
        now: WallTime,
    ) -> LetGo {
        if self
            .entry(&owned.key, now)
            .is_some_and(|it| it.rests(owned))
        {
            return LetGo::Waiting;
        }
        let Some(entry) = self.owned(owned, now) else {
            return LetGo::Lost;
        };
        if is_there(entry) || entry.cancelled {
            return LetGo::Ready;
        }
        let deadline = resting.deadline.at();
        entry.state = State::Waiting(Waiting {
            on,
            ack: resting.ack.clone(),
            deadline,
            look_at: resting.look_at.min(deadline),
            rest: owned.nonce,
        });
        if entry.last_worker.is_none() {
            entry.attempts = entry.attempts.saturating_sub(1);
        }
        self.drop_held(&owned.key);
        self.move_run(&owned.key, RunStatus::Waiting);
        LetGo::Waiting
    }

    pub(super) fn claim_waiting(&mut self, claim: &Claim, now: WallTime) -> ClaimAnswer {
        if let Some(entry) = self.entry_mut(&claim.key, now)
            && let State::Waiting(waiting) = &entry.state
            && entry.goes_on(waiting.on, claim.deadline.at(), now) == DueFor::Look
        {
            if let State::Waiting(waiting) = &mut entry.state
                && claim.ack.is_deliverys()
            {
                waiting.ack = claim.ack.clone();
            }
            return ClaimAnswer::Waiting;
        }
        self.take(claim, false, now)
    }

    fn child_ended(&mut self, parent: &RequestKey, ended: &ChildEnded, now: WallTime) -> Woken {
        let Some(entry) = self.entry_mut(parent, now) else {
            return Woken::Ignored;
        };
        if !entry.kin.child_ended(ended) {
            return Woken::Ignored;
        }
        let is_ready = entry.kin.is_ready();
        match &mut entry.state {
            State::Waiting(waiting) if is_ready && waiting.on == WaitsOn::Children => {
                waiting.look_at = now;
                Woken::Wake(waiting.ack.clone())
            }
            State::Waiting(_)
            | State::Intended
            | State::Flagged
            | State::Held(_)
            | State::Released
            | State::Done { .. } => Woken::Noted,
        }
    }

    fn resume(&mut self, owned: &Owned, step: Step, now: WallTime) -> Vec<Child> {
        let Some(entry) = self.owned(owned, now) else {
            return Vec::new();
        };
        let was_open = entry.kin.is_open(step);
        let dropped = entry.kin.resume(step);
        if was_open {
            self.move_run(&owned.key, RunStatus::Running);
        }
        dropped
    }

    fn wait(&self, key: &RequestKey, now: WallTime) -> Option<Wait> {
        let delegated = self.entry(key, now)?.kin.delegation.as_ref();
        delegated.map(|it| it.wait.clone())
    }

    fn outbox(&self, key: &RequestKey, now: WallTime) -> Vec<(Child, Bytes)> {
        let entry = self.entry(key, now);
        let Some(delegated) = entry.and_then(|it| it.kin.delegation.as_ref()) else {
            return Vec::new();
        };
        let children = delegated.wait.children.iter().map(|(child, _)| child);
        let both = children.zip(&delegated.messages);
        both.map(|(child, message)| (child.clone(), message.clone()))
            .collect()
    }

    fn due(&mut self, most: usize, again: Duration, now: WallTime) -> Vec<Due> {
        let late = self.records.iter().filter_map(|(key, entry)| {
            let State::Waiting(waiting) = &entry.state else {
                return None;
            };
            (waiting.look_at <= now).then(|| (waiting.look_at, key.clone()))
        });
        let mut late: Vec<_> = late.collect();
        late.sort_by_key(|(look_at, _)| *look_at);
        let first = late.into_iter().take(most);
        first
            .filter_map(|(_, key)| self.look_at(key, again, now))
            .collect()
    }

    /// Why it is due; it is so again later.
    fn look_at(&mut self, key: RequestKey, again: Duration, now: WallTime) -> Option<Due> {
        let entry = self.records.get_mut(&key)?;
        let State::Waiting(waiting) = &entry.state else {
            return None;
        };
        let (on, ack, deadline) = (waiting.on, waiting.ack.clone(), waiting.deadline);
        let why = entry.goes_on(on, deadline, now);
        let again = match why {
            DueFor::Wake | DueFor::End => again,
            DueFor::Look => LOOK_AGAIN,
        };
        if let State::Waiting(waiting) = &mut entry.state {
            let then = now.saturating_add(again);
            let then_or_end = then.min(deadline);
            waiting.look_at = if deadline > now { then_or_end } else { then };
        }
        Some(Due { key, ack, why })
    }

    fn decide(&mut self, key: &RequestKey, verdict: &Verdict, now: WallTime) -> VerdictAnswer {
        let Some(entry) = self.entry_mut(key, now) else {
            return VerdictAnswer::NotAsked;
        };
        let origin = entry.origin.as_ref();
        if origin.is_none_or(|it| it.fingerprint != verdict.fingerprint) {
            return VerdictAnswer::Mismatch;
        }
        match (&entry.kin.verdict, &mut entry.state) {
            (Some(before), _) if before == verdict => VerdictAnswer::Taken,
            (Some(before), _) => VerdictAnswer::Decided(before.clone()),
            (None, State::Waiting(waiting)) if waiting.on == WaitsOn::Verdict => {
                waiting.look_at = now;
                entry.kin.verdict = Some(verdict.clone());
                VerdictAnswer::Taken
            }
            (None, _) => VerdictAnswer::NotAsked,
        }
    }
}

impl Entry {
    fn rests(&self, owned: &Owned) -> bool {
        matches!(&self.state, State::Waiting(waiting) if waiting.rest == owned.nonce)
    }

    /// Why it is to go on, if it is.
    fn goes_on(&self, on: WaitsOn, deadline: WallTime, now: WallTime) -> DueFor {
        let is_there = match on {
            WaitsOn::Children => self.kin.is_ready(),
            WaitsOn::Verdict => self.kin.verdict.is_some(),
        };
        match () {
            () if self.cancelled || deadline <= now => DueFor::End,
            () if is_there => DueFor::Wake,
            () => DueFor::Look,
        }
    }
}

impl Waits for StoreTwin {
    async fn park(&self, owned: &Owned, park: &Park) -> Result<ParkAnswer, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.park(owned, park, clock.now());
        self.run(Op::Park, effect).await
    }

    async fn intend(&self, intent: &Intent) -> Result<Intended, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.intend(intent, clock.now());
        self.run(Op::Intend, effect).await
    }

    async fn let_go(&self, owned: &Owned, resting: &Resting) -> Result<LetGo, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.let_go(owned, resting, clock.now());
        self.run(Op::LetGo, effect).await
    }

    async fn child_ended(
        &self,
        parent: &RequestKey,
        ended: &ChildEnded,
    ) -> Result<Woken, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.child_ended(parent, ended, clock.now());
        self.run(Op::ChildEnded, effect).await
    }

    async fn wait(&self, key: &RequestKey) -> Result<Option<Wait>, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.wait(key, clock.now());
        self.run(Op::Wait, effect).await
    }

    async fn outbox(&self, key: &RequestKey) -> Result<Vec<(Child, Bytes)>, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.outbox(key, clock.now());
        self.run(Op::Outbox, effect).await
    }

    async fn resume(&self, owned: &Owned, step: Step) -> Result<Vec<Child>, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.resume(owned, step, clock.now());
        self.run(Op::Resume, effect).await
    }

    async fn children(&self, key: &RequestKey) -> Result<Vec<Child>, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| {
            let entry = data.entry(key, clock.now());
            entry.map(|it| it.kin.children()).unwrap_or_default()
        };
        self.run(Op::Children, effect).await
    }

    async fn due(&self, most: usize, again: Duration) -> Result<Vec<Due>, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.due(most, again, clock.now());
        self.run(Op::Due, effect).await
    }

    async fn ask_verdict(&self, owned: &Owned, resting: &Resting) -> Result<LetGo, StoreFault> {
        let is_there = |entry: &Entry| entry.kin.verdict.is_some();
        let effect = |data: &mut Data, clock: &Clock| {
            data.rest(owned, WaitsOn::Verdict, resting, is_there, clock.now())
        };
        self.run(Op::AskVerdict, effect).await
    }

    async fn decide(
        &self,
        key: &RequestKey,
        verdict: &Verdict,
    ) -> Result<VerdictAnswer, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.decide(key, verdict, clock.now());
        self.run(Op::Decide, effect).await
    }

    async fn note_root(&self, chain: &CorrelationId, root: &RequestKey) -> Result<(), StoreFault> {
        let effect = |data: &mut Data, _: &Clock| {
            let roots = data.chains.entry(chain.clone()).or_default();
            roots.insert(root.clone());
        };
        self.run(Op::NoteRoot, effect).await
    }

    async fn roots(&self, chain: &CorrelationId) -> Result<Vec<RequestKey>, StoreFault> {
        let effect = |data: &mut Data, _: &Clock| {
            let roots = data.chains.get(chain).into_iter().flatten();
            roots.cloned().collect()
        };
        self.run(Op::Roots, effect).await
    }
}
