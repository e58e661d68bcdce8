//! The port to waiting requests, each operation one call of its script.

use std::time::Duration;

use bytes::Bytes;

use super::{
    super::{
        LOOK_AGAIN, RequestKey, StoreFault, Waits,
        kin::{
            Child, ChildEnded, Due, Intended, Intent, LetGo, Owned, Park, ParkAnswer, Resting,
            Verdict, VerdictAnswer, Wait, Woken,
        },
    },
    RedisStore,
    call::Call,
    fault,
    kin::{self, Numbers},
    ports::read,
    scripts::{self, Script},
};
use crate::contract::{CorrelationId, Step};

impl Waits for RedisStore {
    async fn park(&self, owned: &Owned, park: &Park) -> Result<ParkAnswer, StoreFault> {
        let payload = park.children.iter().map(|(_, message)| message.len()).sum();
        let mut call = self.on(&scripts::PARK, &owned.key, payload);
        call.text(owned.nonce)
            .millis(self.0.engine.kept_beside())
            .text(park.step)
            .text(park.join);
        for (child, message) in &park.children {
            call.text(child.place.index)
                .bytes(kin::json(child).as_bytes())
                .text(Numbers(&child.limits.as_spent()))
                .bytes(message);
        }
        let value = self.0.engine.link.call(&call).await?;
        read(&scripts::PARK, &value, kin::parked)
    }

    async fn intend(&self, intent: &Intent) -> Result<Intended, StoreFault> {
        let Intent {
            child,
            correlation,
            lineage,
        } = intent;
        let mut call = self.on(&scripts::INTEND, &child.key, 0);
        call.millis(self.0.engine.retention)
            .text(child.fingerprint)
            .bytes(correlation.as_str().as_bytes())
            .text(child.deadline.at().unix_millis())
            .bytes(kin::json(lineage).as_bytes());
        let value = self.0.engine.link.call(&call).await?;
        read(&scripts::INTEND, &value, kin::intended)
    }

    async fn let_go(&self, owned: &Owned, resting: &Resting) -> Result<LetGo, StoreFault> {
        self.rest(&scripts::LET_GO, owned, resting).await
    }

    async fn child_ended(
        &self,
        parent: &RequestKey,
        ended: &ChildEnded,
    ) -> Result<Woken, StoreFault> {
        let mut call = self.on(&scripts::CHILD_ENDED, parent, 0);
        call.text(ended.place.step)
            .text(ended.place.index)
            .text(kin::ended(ended.end))
            .text(Numbers(&ended.spent));
        let value = self.0.engine.link.call(&call).await?;
        read(&scripts::CHILD_ENDED, &value, kin::woken)
    }

    async fn wait(&self, key: &RequestKey) -> Result<Option<Wait>, StoreFault> {
        let call = self.on(&scripts::WAIT_READ, key, 0);
        let value = self.0.engine.link.call(&call).await?;
        read(&scripts::WAIT_READ, &value, kin::wait)
    }

    async fn outbox(&self, key: &RequestKey) -> Result<Vec<(Child, Bytes)>, StoreFault> {
        let call = self.on(&scripts::OUTBOX, key, 0);
        let value = self.0.engine.link.call(&call).await?;
        read(&scripts::OUTBOX, &value, kin::outbox)
    }

    async fn resume(&self, owned: &Owned, step: Step) -> Result<Vec<Child>, StoreFault> {
        let mut call = self.on(&scripts::RESUME, &owned.key, 0);
        call.text(owned.nonce).text(step);
        let value = self.0.engine.link.call(&call).await?;
        read(&scripts::RESUME, &value, kin::children)
    }

    async fn children(&self, key: &RequestKey) -> Result<Vec<Child>, StoreFault> {
        let mut command = redis::cmd("HVALS");
        command.arg(self.0.engine.keys.kids(key));
        let value = self.0.engine.link.command("children", &command).await?;
        let children = kin::children(&value);
        let mut children = children.ok_or_else(|| fault::nonsense("children", &value))?;
        children.sort_by_key(|child| child.place);
        Ok(children)
    }

    async fn due(&self, most: usize, again: Duration) -> Result<Vec<Due>, StoreFault> {
        let mut due = Vec::new();
        let nodes = self.0.engine.keys.waits();
        for (asked, keys) in nodes.iter().enumerate() {
            let share = most.saturating_sub(due.len()).div_ceil(nodes.len() - asked);
            let mut call = Call::new(&scripts::DUE, keys.len(), 0);
            for key in keys {
                call.bytes(key.as_bytes());
            }
            call.text(share).millis(again).millis(LOOK_AGAIN);
            let value = self.0.engine.link.call(&call).await?;
            due.extend(read(&scripts::DUE, &value, kin::due)?);
        }
        Ok(due)
    }

    async fn ask_verdict(&self, owned: &Owned, resting: &Resting) -> Result<LetGo, StoreFault> {
        self.rest(&scripts::ASK_VERDICT, owned, resting).await
    }

    async fn decide(
        &self,
        key: &RequestKey,
        verdict: &Verdict,
    ) -> Result<VerdictAnswer, StoreFault> {
        let mut call = self.on(&scripts::DECIDE, key, 0);
        call.text(verdict.fingerprint)
            .bytes(kin::json(verdict).as_bytes());
        let value = self.0.engine.link.call(&call).await?;
        read(&scripts::DECIDE, &value, kin::verdict)
    }

    async fn note_root(&self, chain: &CorrelationId, root: &RequestKey) -> Result<(), StoreFault> {
        let mut call = Call::new(&scripts::NOTE_ROOT, 1, 0);
        call.bytes(self.0.engine.keys.chain(chain).as_bytes())
            .text(format_args!("{}:{}", root.target, root.request))
            .millis(self.0.engine.kept_beside());
        self.0.engine.link.call(&call).await.map(drop)
    }

    async fn roots(&self, chain: &CorrelationId) -> Result<Vec<RequestKey>, StoreFault> {
        let mut command = redis::cmd("SMEMBERS");
        command.arg(self.0.engine.keys.chain(chain));
        let value = self.0.engine.link.command("roots", &command).await?;
        let mut roots = kin::roots(&value).ok_or_else(|| fault::nonsense("roots", &value))?;
        roots.sort();
        Ok(roots)
    }
}

impl RedisStore {
    /// Gives up a claim whose request waits, by the script for what it waits for.
    async fn rest(
        &self,
        script: &'static Script,
        owned: &Owned,
        resting: &Resting,
    ) -> Result<LetGo, StoreFault> {
        let mut call = self.on(script, &owned.key, 0);
        call.text(owned.nonce)
            .bytes(resting.ack.as_str().as_bytes())
            .text(resting.deadline.at().unix_millis())
            .text(resting.look_at.unix_millis());
        let value = self.0.engine.link.call(&call).await?;
        read(script, &value, kin::let_go)
    }
}
