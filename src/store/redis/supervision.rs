//! The supervisor's port: who leads, who is there, and how a dead session is ended.

use std::time::Duration;

use super::{
    super::{AckToken, Registered, RequestKey, SessionId, StoreFault, Supervision},
    RedisStore, answer,
    call::Call,
    ports::read,
    scripts::{self, Script},
};

/// About how much one eviction tells of what a session holds in each partition: the server does
/// nothing else meanwhile.
const TOLD_MAX: usize = 64;

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
    /// A call of `script` on one key.
    fn at(&self, script: &'static Script, key: &str) -> Call {
        let mut call = Call::new(script, 1, 0);
        call.bytes(key.as_bytes());
        call
    }
}
