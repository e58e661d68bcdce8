//! The port to executions, each operation one call.

use redis::Value;

use super::{
    super::{
        StoreFault,
        executions::{
            Begun, EXECUTION_RETENTION, Execution, Executions, LISTED_MAX, Listed, ListedAfter,
            Owner,
        },
    },
    RedisStore,
    answer::{array, text},
    call::Call,
    fault, kin,
    ports::read,
    scripts,
};
use crate::contract::RequestId;

impl Executions for RedisStore {
    async fn begin(
        &self,
        owner: &Owner,
        execution: &Execution,
        listed: Listed,
    ) -> Result<Begun, StoreFault> {
        let keys = &self.0.engine.keys;
        let id = &execution.key.request;
        let written = kin::json(execution);
        let mut call = Call::new(&scripts::EXECUTION_BEGIN, 2, written.len());
        call.bytes(keys.execution(owner, id).as_bytes())
            .bytes(keys.executions(owner).as_bytes())
            .text(execution.fingerprint)
            .bytes(written.as_bytes())
            .millis(execution.deadline.left(execution.created) + EXECUTION_RETENTION)
            .bytes(id.as_str().as_bytes());
        match listed {
            Listed::Yes => call.text(execution.created.unix_millis()),
            Listed::No => call.bytes(b""),
        };
        call.text(LISTED_MAX);
        let value = self.0.engine.link.call(&call).await?;
        read(&scripts::EXECUTION_BEGIN, &value, begun)
    }

    async fn find(&self, owner: &Owner, id: &RequestId) -> Result<Option<Execution>, StoreFault> {
        let mut command = redis::cmd("GET");
        command.arg(self.0.engine.keys.execution(owner, id));
        match self.0.engine.link.command("execution", &command).await? {
            Value::Nil => Ok(None),
            value => {
                let kept = text(&value).and_then(|it| it.split_once(' '));
                let execution = kept.and_then(|(_, written)| serde_json::from_str(written).ok());
                let unread = || fault::nonsense("execution", &value);
                execution.map(Some).ok_or_else(unread)
            }
        }
    }

    async fn list(
        &self,
        owner: &Owner,
        after: Option<&ListedAfter>,
        most: usize,
    ) -> Result<Vec<Execution>, StoreFault> {
        let mut call = Call::new(&scripts::EXECUTION_LIST, 1, 0);
        call.bytes(self.0.engine.keys.executions(owner).as_bytes())
            .text(most);
        match after {
            Some(ListedAfter { created, id }) => call
                .text(created.unix_millis())
                .bytes(id.as_str().as_bytes()),
            None => call.bytes(b"").bytes(b""),
        };
        let value = self.0.engine.link.call(&call).await?;
        read(&scripts::EXECUTION_LIST, &value, |value| {
            array(value)?.iter().map(kin::parsed).collect()
        })
    }
}

fn begun(value: &Value) -> Option<Begun> {
    match value {
        Value::Int(1) => Some(Begun::New),
        Value::Int(0) => Some(Begun::Conflict),
        value => kin::parsed(value).map(Begun::Same),
    }
}
