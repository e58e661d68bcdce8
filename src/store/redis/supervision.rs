//! The supervisor's port: who leads, who is there, and how a dead session is ended.

use std::time::Duration;

use redis::Value;

use super::{
    super::{AckToken, Nonce, Registered, RequestKey, SessionId, StoreFault, Supervision},
    RedisStore, answer,
    call::Call,
    fault,
    ports::read,
    scripts::{self, Script},
};
use crate::contract::PurutoName;

/// About how much one eviction tells of what a session holds in each partition: the server does
/// nothing else meanwhile.
const TOLD_MAX: usize = 64;

/// How much of what a session holds one look at it sees in each partition.
const LOOKED_AT_MAX: usize = 256;

impl Supervision for RedisStore {
    async fn lead(&self, candidate: &SessionId, lease: Duration) -> Result<bool, StoreFault> {
        let mut call = self.at(&scripts::LEAD, &self.0.engine.keys.home("leader"));
        call.text(candidate).millis(lease);
        let value = self.0.engine.link.call(&call).await?;
        read(&scripts::LEAD, &value, answer::flag)
    }

    async fn answers_pings(&self, session: &SessionId) -> Result<(), StoreFault> {
        let key = self.0.engine.keys.session_at_home(session);
        let call = self.at(&scripts::SESSION_ANSWERS, &key);
        self.0.engine.link.call(&call).await.map(drop)
    }

    async fn roster(&self) -> Result<Vec<Registered>, StoreFault> {
        let sessions = self.0.engine.keys.home("sessions");
        let call = self.at(&scripts::SESSION_ROSTER, &sessions);
        let value = self.0.engine.link.call(&call).await?;
        read(&scripts::SESSION_ROSTER, &value, answer::roster)
    }

    async fn held(&self, session: &SessionId) -> Result<Vec<(RequestKey, Nonce)>, StoreFault> {
        let answers = self
            .on_session(&scripts::SESSION_HELD, session, |call| {
                call.text(LOOKED_AT_MAX);
            })
            .await?;
        let mut held = Vec::new();
        for value in &answers {
            held.extend(read(&scripts::SESSION_HELD, value, answer::claims)?);
        }
        Ok(held)
    }

    async fn serving(&self, sessions: &[SessionId]) -> Result<Vec<Vec<PurutoName>>, StoreFault> {
        let names = sessions.iter().map(SessionId::as_str);
        self.about("HMGET", "serving", names, answer::serving).await
    }

    async fn ever_served(&self, targets: &[PurutoName]) -> Result<Vec<bool>, StoreFault> {
        let names = targets.iter().map(PurutoName::as_str);
        self.about("SMISMEMBER", "targets", names, answer::flag)
            .await
    }

    async fn evict(
        &self,
        session: &SessionId,
        given_back: &[RequestKey],
    ) -> Result<Vec<(RequestKey, AckToken)>, StoreFault> {
        let answers = self
            .on_session(&scripts::SESSION_EVICT, session, |call| {
                call.text(TOLD_MAX);
                for key in given_back {
                    call.text(format_args!("{}:{}", key.target, key.request));
                }
            })
            .await?;
        let mut left = Vec::new();
        for value in &answers {
            left.extend(read(&scripts::SESSION_EVICT, value, answer::held)?);
        }
        if left.is_empty() {
            self.forget(session).await?;
        }
        Ok(left)
    }
}

impl RedisStore {
    /// Looks `names` up under a key that describes the whole data set; the answers, in their order.
    async fn about<'n, T>(
        &self,
        command: &'static str,
        key: &str,
        names: impl ExactSizeIterator<Item = &'n str> + Send,
        reader: fn(&Value) -> Option<T>,
    ) -> Result<Vec<T>, StoreFault> {
        if names.len() == 0 {
            return Ok(Vec::new());
        }
        let engine = &self.0.engine;
        let mut asked = redis::cmd(command);
        asked.arg(engine.keys.home(key));
        for name in names {
            asked.arg(name);
        }
        let value = engine.link.command(command, &asked).await?;
        let answers = answer::array(&value).and_then(|them| them.iter().map(reader).collect());
        answers.ok_or_else(|| fault::nonsense(command, &value))
    }

    /// A call of `script` on one key.
    fn at(&self, script: &'static Script, key: &str) -> Call {
        let mut call = Call::new(script, 1, 0);
        call.bytes(key.as_bytes());
        call
    }
}
