//! The ports, each operation one step of the reference model.

use std::time::Duration;

use bytes::Bytes;

use super::{
    super::{
        AckToken, CancelAnswer, Carried, Claim, ClaimAnswer, Claims, Commit, CommitAnswer, Epoch,
        Nonce, Record, Records, Registered, Renewal, RequestKey, SessionId, Sessions, StoreFault,
        Supervision,
    },
    Op, StoreTwin,
    data::Data,
};
use crate::{
    clock::{Clock, WallTime},
    contract::PurutoName,
};

impl Claims for StoreTwin {
    async fn claim(&self, claim: Claim) -> Result<ClaimAnswer, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.claim(&claim, clock.now());
        self.run(Op::Claim, effect).await
    }

    async fn commit(
        &self,
        key: &RequestKey,
        nonce: Nonce,
        commit: Commit,
    ) -> Result<CommitAnswer, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.commit(key, nonce, &commit, clock.now());
        self.run(Op::Commit, effect).await
    }

    async fn settle(&self, key: &RequestKey) -> Result<(), StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.settle(key, clock.now());
        self.run(Op::Settle, effect).await
    }

    async fn release(
        &self,
        key: &RequestKey,
        nonce: Nonce,
        carried: &Carried,
    ) -> Result<(), StoreFault> {
        let effect =
            |data: &mut Data, clock: &Clock| data.release(key, nonce, carried, clock.now());
        self.run(Op::Release, effect).await
    }

    async fn correct(&self, key: &RequestKey, published: Bytes) -> Result<(), StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.correct(key, published, clock.now());
        self.run(Op::Correct, effect).await
    }
}

impl Sessions for StoreTwin {
    async fn open(
        &self,
        session: &SessionId,
        worker: &str,
        targets: &[PurutoName],
    ) -> Result<Epoch, StoreFault> {
        let effect =
            |data: &mut Data, clock: &Clock| data.open(session, worker, targets, clock.now());
        self.run(Op::Open, effect).await
    }

    async fn renew(&self, session: &SessionId) -> Result<Renewal, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.renew(session, clock.now());
        self.run(Op::Renew, effect).await
    }

    async fn time(&self) -> Result<WallTime, StoreFault> {
        let effect = |_: &mut Data, clock: &Clock| clock.now();
        self.run(Op::Time, effect).await
    }

    async fn close(&self, session: &SessionId) -> Result<(), StoreFault> {
        let effect = |data: &mut Data, _: &Clock| data.close(session);
        self.run(Op::Close, effect).await
    }
}

impl Supervision for StoreTwin {
    async fn lead(&self, candidate: &SessionId, lease: Duration) -> Result<bool, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.lead(candidate, lease, clock.now());
        self.run(Op::Lead, effect).await
    }

    async fn answers_pings(&self, session: &SessionId) -> Result<(), StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.answers_pings(session, clock.now());
        self.run(Op::AnswersPings, effect).await
    }

    async fn roster(&self) -> Result<Vec<Registered>, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.roster(clock.now());
        self.run(Op::Roster, effect).await
    }

    async fn held(&self, session: &SessionId) -> Result<Vec<(RequestKey, Nonce)>, StoreFault> {
        let effect = |data: &mut Data, _: &Clock| data.claims_of(session);
        self.run(Op::Held, effect).await
    }

    async fn serving(&self, sessions: &[SessionId]) -> Result<Vec<Vec<PurutoName>>, StoreFault> {
        let effect = |data: &mut Data, _: &Clock| data.serving(sessions);
        self.run(Op::Serving, effect).await
    }

    async fn ever_served(&self, targets: &[PurutoName]) -> Result<Vec<bool>, StoreFault> {
        let effect = |data: &mut Data, _: &Clock| {
            let known = targets.iter().map(|it| data.targets.contains(it));
            known.collect()
        };
        self.run(Op::EverServed, effect).await
    }

    async fn evict(
        &self,
        session: &SessionId,
        given_back: &[RequestKey],
    ) -> Result<Vec<(RequestKey, AckToken)>, StoreFault> {
        let effect = |data: &mut Data, _: &Clock| data.evict(session, given_back);
        self.run(Op::Evict, effect).await
    }
}

impl Records for StoreTwin {
    async fn targets(&self) -> Result<Vec<PurutoName>, StoreFault> {
        let effect = |data: &mut Data, _: &Clock| data.targets.iter().cloned().collect();
        self.run(Op::Targets, effect).await
    }

    async fn read(&self, keys: &[RequestKey]) -> Result<Vec<Option<Record>>, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| {
            let now = clock.now();
            keys.iter().map(|key| data.read(key, now)).collect()
        };
        self.run(Op::Read, effect).await
    }

    async fn cancel(&self, key: &RequestKey) -> Result<CancelAnswer, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.cancel(key, clock.now());
        self.run(Op::Cancel, effect).await
    }
}
