//! The joints of delegation: the ports to requests that wait and to those that are asked.

use std::time::Duration;

use bytes::Bytes;
use puruto_fleet::{
    broker::{Asking, BrokerFault, Headers, PublishAck},
    contract::{CorrelationId, Step},
    store::{
        CancelAnswer, Record, Records, RequestKey, Runs, StoreFault, Waits,
        kin::{
            Child, ChildEnded, Due, Intended, Intent, LetGo, Owned, Park, ParkAnswer, Resting,
            Verdict, VerdictAnswer, Wait, Woken,
        },
        run::{Checkpoint, CheckpointAnswer, NewRun, Run, RunEvent},
    },
};

use crate::joints::{SimBroker, SimClaims, broker_timed_out, store_timed_out};

/// Passes a call on, with a joint before it and one after it.
macro_rules! joined {
    ($self:ident, $call:expr, $timed_out:ident) => {{
        $self.joints.pass().await.map_err($timed_out)?;
        let answer = $call.await;
        $self.joints.pass().await.map_err($timed_out)?;
        answer
    }};
}

impl Waits for SimClaims {
    async fn park(&self, owned: &Owned, park: &Park) -> Result<ParkAnswer, StoreFault> {
        joined!(self, self.twin.park(owned, park), store_timed_out)
    }

    async fn intend(&self, intent: &Intent) -> Result<Intended, StoreFault> {
        joined!(self, self.twin.intend(intent), store_timed_out)
    }

    async fn let_go(&self, owned: &Owned, resting: &Resting) -> Result<LetGo, StoreFault> {
        joined!(self, self.twin.let_go(owned, resting), store_timed_out)
    }

    async fn child_ended(
        &self,
        parent: &RequestKey,
        ended: &ChildEnded,
    ) -> Result<Woken, StoreFault> {
        joined!(self, self.twin.child_ended(parent, ended), store_timed_out)
    }

    async fn wait(&self, key: &RequestKey) -> Result<Option<Wait>, StoreFault> {
        joined!(self, self.twin.wait(key), store_timed_out)
    }

    async fn outbox(&self, key: &RequestKey) -> Result<Vec<(Child, Bytes)>, StoreFault> {
        joined!(self, self.twin.outbox(key), store_timed_out)
    }

    async fn resume(&self, owned: &Owned, step: Step) -> Result<Vec<Child>, StoreFault> {
        joined!(self, self.twin.resume(owned, step), store_timed_out)
    }

    async fn children(&self, key: &RequestKey) -> Result<Vec<Child>, StoreFault> {
        joined!(self, self.twin.children(key), store_timed_out)
    }

    async fn due(&self, most: usize, again: Duration) -> Result<Vec<Due>, StoreFault> {
        self.twin.due(most, again).await
    }

    async fn ask_verdict(&self, owned: &Owned, resting: &Resting) -> Result<LetGo, StoreFault> {
        joined!(self, self.twin.ask_verdict(owned, resting), store_timed_out)
    }

    async fn decide(
        &self,
        key: &RequestKey,
        verdict: &Verdict,
    ) -> Result<VerdictAnswer, StoreFault> {
        self.twin.decide(key, verdict).await
    }

    async fn note_root(&self, chain: &CorrelationId, root: &RequestKey) -> Result<(), StoreFault> {
        joined!(self, self.twin.note_root(chain, root), store_timed_out)
    }

    async fn roots(&self, chain: &CorrelationId) -> Result<Vec<RequestKey>, StoreFault> {
        self.twin.roots(chain).await
    }
}

impl Runs for SimClaims {
    async fn create(&self, key: &RequestKey, new: &NewRun) -> Result<Run, StoreFault> {
        joined!(self, self.twin.create(key, new), store_timed_out)
    }

    async fn run(&self, key: &RequestKey) -> Result<Option<Run>, StoreFault> {
        joined!(self, Runs::run(&self.twin, key), store_timed_out)
    }

    async fn events(&self, key: &RequestKey, after: u64) -> Result<Vec<RunEvent>, StoreFault> {
        self.twin.events(key, after).await
    }

    async fn checkpoint(
        &self,
        owned: &Owned,
        checkpoint: &Checkpoint,
    ) -> Result<CheckpointAnswer, StoreFault> {
        joined!(
            self,
            self.twin.checkpoint(owned, checkpoint),
            store_timed_out
        )
    }
}

impl Records for SimClaims {
    async fn targets(&self) -> Result<Vec<puruto_fleet::contract::PurutoName>, StoreFault> {
        self.twin.targets().await
    }

    async fn read(&self, keys: &[RequestKey]) -> Result<Vec<Option<Record>>, StoreFault> {
        joined!(self, self.twin.read(keys), store_timed_out)
    }

    async fn cancel(&self, key: &RequestKey) -> Result<CancelAnswer, StoreFault> {
        joined!(self, self.twin.cancel(key), store_timed_out)
    }
}

impl Asking for SimBroker {
    async fn publish_request(
        &self,
        subject: &str,
        headers: &Headers,
        body: Bytes,
    ) -> Result<PublishAck, BrokerFault> {
        joined!(
            self,
            self.twin.publish_request(subject, headers, body),
            broker_timed_out
        )
    }

    async fn announce_cancel(&self, request: &RequestKey) -> Result<(), BrokerFault> {
        Asking::announce_cancel(&self.twin, request).await
    }
}
