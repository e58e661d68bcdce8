//! The ports, each operation one call of its script.

use bytes::Bytes;
use futures_util::future::try_join_all;
use redis::Value;

use super::{
    super::{
        CancelAnswer, Carried, Claim, ClaimAnswer, Claims, Commit, CommitAnswer, Epoch,
        FLAG_RETENTION, Nonce, Record, Records, Renewal, RequestKey, SessionId, Sessions,
        StoreFault,
    },
    PARTITIONS, RedisStore, answer,
    call::Call,
    fault,
    items::{Committing, Settle},
    other_partitions,
    scripts::{self, Script},
};
use crate::{clock::WallTime, contract::PurutoName};

impl Claims for RedisStore {
    async fn claim(&self, claim: Claim) -> Result<ClaimAnswer, StoreFault> {
        self.0.claims.submit(claim).await
    }

    async fn commit(
        &self,
        key: &RequestKey,
        nonce: Nonce,
        commit: Commit,
    ) -> Result<CommitAnswer, StoreFault> {
        let committing = Committing {
            key: key.clone(),
            nonce,
            commit,
        };
        self.0.commits.submit(committing).await
    }

    /// Waits some milliseconds for others to settle: not to be awaited where a caller waits.
    async fn settle(&self, key: &RequestKey) -> Result<(), StoreFault> {
        self.0.settlements.submit(Settle(key.clone())).await
    }

    async fn release(
        &self,
        key: &RequestKey,
        nonce: Nonce,
        carried: &Carried,
    ) -> Result<(), StoreFault> {
        let mut call = self.on(&scripts::RELEASE, key, 0);
        call.text(nonce).text(carried.as_str());
        self.0.engine.link.call(&call).await.map(drop)
    }

    async fn correct(&self, key: &RequestKey, published: Bytes) -> Result<(), StoreFault> {
        let mut call = self.on(&scripts::CORRECT, key, published.len());
        call.bytes(&published);
        self.0.engine.link.call(&call).await.map(drop)
    }
}

impl Sessions for RedisStore {
    async fn open(
        &self,
        session: &SessionId,
        worker: &str,
        targets: &[PurutoName],
    ) -> Result<Epoch, StoreFault> {
        // First the session, then the epoch: were the store emptied in between, the session would
        // be gone and its first renewal refused. The other way round it would live under the epoch
        // of a data set that is no more.
        self.on_session(&scripts::SESSION_OPEN, session, |call| {
            call.text(worker).millis(self.0.options.session_ttl);
        })
        .await?;
        self.register(session, worker, targets).await
    }

    async fn renew(&self, session: &SessionId) -> Result<Renewal, StoreFault> {
        let answers = self
            .on_session(&scripts::SESSION_RENEW, session, |call| {
                call.millis(self.0.options.session_ttl);
            })
            .await?;
        let mut all = Vec::new();
        for value in &answers {
            match read(&scripts::SESSION_RENEW, value, answer::renewal)? {
                Renewal::Renewed { cancelled } => all.extend(cancelled),
                Renewal::Fenced => return Ok(Renewal::Fenced),
            }
        }
        Ok(Renewal::Renewed { cancelled: all })
    }

    async fn time(&self) -> Result<WallTime, StoreFault> {
        let command = redis::cmd("TIME");
        let value = self.0.engine.link.command("time", &command).await?;
        answer::time_of_day(&value).ok_or_else(|| fault::nonsense("time", &value))
    }

    async fn close(&self, session: &SessionId) -> Result<(), StoreFault> {
        let answers = self
            .on_session(&scripts::SESSION_CLOSE, session, |_| {})
            .await?;
        let mut held = 0;
        for value in &answers {
            held += read(&scripts::SESSION_CLOSE, value, answer::whole)?;
        }
        // While it holds anything its name stays, so that its messages can be found.
        if held == 0 {
            self.forget(session).await?;
        }
        Ok(())
    }
}

impl RedisStore {
    /// The epoch of the data set; nothing while no session was ever opened on it.
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    pub async fn epoch(&self) -> Result<Option<Epoch>, StoreFault> {
        let mut command = redis::cmd("GET");
        command.arg(self.0.engine.keys.home("epoch"));
        let value = self.0.engine.link.command("epoch", &command).await?;
        Ok(answer::text(&value).map(Epoch::recorded))
    }
}

impl Records for RedisStore {
    async fn targets(&self) -> Result<Vec<PurutoName>, StoreFault> {
        let mut command = redis::cmd("SMEMBERS");
        command.arg(self.0.engine.keys.home("targets"));
        let value = self.0.engine.link.command("targets", &command).await?;
        let targets = answer::array(&value).and_then(|names| {
            let names = names.iter().map(|it| answer::text(it)?.parse().ok());
            names.collect::<Option<Vec<_>>>()
        });
        targets.ok_or_else(|| fault::nonsense("targets", &value))
    }

    async fn read(&self, keys: &[RequestKey]) -> Result<Vec<Option<Record>>, StoreFault> {
        let mut records = vec![None; keys.len()];
        let all = keys.iter().enumerate().collect();
        for group in self.0.engine.keys.group(all, |(_, key)| key) {
            for chunk in group.chunks(READ_MAX) {
                self.read_chunk(chunk, &mut records).await?;
            }
        }
        Ok(records)
    }

    async fn cancel(&self, key: &RequestKey) -> Result<CancelAnswer, StoreFault> {
        let mut call = self.on(&scripts::CANCEL, key, 0);
        call.millis(FLAG_RETENTION);
        let value = self.0.engine.link.call(&call).await?;
        read(&scripts::CANCEL, &value, answer::cancel)
    }
}

/// How many records one call reads.
const READ_MAX: usize = 256;

impl RedisStore {
    /// A call of `script` on one record.
    pub(super) fn on(&self, script: &'static Script, key: &RequestKey, payload: usize) -> Call {
        let mut call = Call::new(script, 1, payload);
        call.record(&self.0.engine.keys, key);
        call
    }

    /// Strikes a session that holds nothing off the roster.
    pub(super) async fn forget(&self, session: &SessionId) -> Result<(), StoreFault> {
        // Its name goes last: while it is there the session is found and forgotten again.
        for hash in ["serving", "sessions"] {
            let mut command = redis::cmd("HDEL");
            let engine = &self.0.engine;
            command.arg(engine.keys.home(hash)).arg(session.as_str());
            engine.link.command("forget", &command).await?;
        }
        Ok(())
    }

    /// Calls `script` on the keys of a session, in as many calls as it takes.
    pub(super) async fn on_session(
        &self,
        script: &'static Script,
        session: &SessionId,
        arguments: impl Fn(&mut Call),
    ) -> Result<Vec<Value>, StoreFault> {
        let groups = self.0.engine.keys.sessions(session);
        let calls: Vec<Call> = groups
            .iter()
            .map(|keys| {
                let mut call = Call::new(script, keys.len(), 0);
                for key in keys {
                    call.bytes(key.as_bytes());
                }
                arguments(&mut call);
                call
            })
            .collect();
        let link = &self.0.engine.link;
        try_join_all(calls.iter().map(|call| link.call(call))).await
    }

    async fn register(
        &self,
        session: &SessionId,
        worker: &str,
        targets: &[PurutoName],
    ) -> Result<Epoch, StoreFault> {
        let inner = &*self.0;
        let keys = &inner.engine.keys;
        let mut call = Call::new(&scripts::SESSION_REGISTER, 5, 0);
        for name in ["epoch", PARTITIONS, "sessions", "targets", "serving"] {
            call.text(keys.home(name));
        }
        call.text(format_args!("{:032x}", inner.chance.bits128()))
            .text(keys.partitions)
            .text(session)
            .text(worker);
        for target in targets {
            call.text(target);
        }
        let value = inner.engine.link.call(&call).await?;
        read(&scripts::SESSION_REGISTER, &value, answer::registered)?
            .map_err(|theirs| other_partitions(theirs, keys))
    }

    async fn read_chunk(
        &self,
        chunk: &[(usize, &RequestKey)],
        records: &mut [Option<Record>],
    ) -> Result<(), StoreFault> {
        let mut call = Call::new(&scripts::READ, chunk.len(), 0);
        for (_, key) in chunk {
            call.record(&self.0.engine.keys, key);
        }
        let value = self.0.engine.link.call(&call).await?;
        let found = read(&scripts::READ, &value, |it| {
            answer::array(it)?
                .iter()
                .map(answer::record)
                .collect::<Option<Vec<_>>>()
        })?;
        for ((at, _), record) in chunk.iter().zip(found) {
            if let Some(place) = records.get_mut(*at) {
                *place = record;
            }
        }
        Ok(())
    }
}

pub(super) fn read<T>(
    script: &'static Script,
    value: &Value,
    reader: impl FnOnce(&Value) -> Option<T>,
) -> Result<T, StoreFault> {
    reader(value).ok_or_else(|| fault::nonsense(script.name, value))
}
