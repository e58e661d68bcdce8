//! The records of the fleet in Redis, read as an operator with `redis-cli` would.

use std::collections::HashMap;

use redis::{AsyncCommands as _, aio::MultiplexedConnection};

/// Over how many partitions the records are spread, as configured by default.
const PARTITIONS: usize = 16;

/// A connection of the test's own.
#[derive(Clone, Debug)]
pub(crate) struct Records(MultiplexedConnection);

impl Records {
    pub(crate) async fn connect(url: &str) -> Self {
        let client = redis::Client::open(url).expect("a valid address");
        let connection = client.get_multiplexed_async_connection().await;
        Self(connection.expect("a connection"))
    }

    /// How many requests this worker's sessions hold and have not settled.
    pub(crate) async fn held_by(&mut self, worker: &str) -> u64 {
        let sessions = self.0.hgetall("puruto:{p00}:sessions").await;
        let sessions: HashMap<String, String> = sessions.expect("the sessions");
        let mut held = 0;
        for (session, _) in sessions.iter().filter(|(_, name)| *name == worker) {
            for partition in 0..PARTITIONS {
                let key = format!("puruto:{{p{partition:02}}}:held:{session}");
                let count: u64 = self.0.hlen(key).await.expect("a count");
                held += count;
            }
        }
        held
    }

    /// How often a request was claimed.
    pub(crate) async fn attempts(&mut self, target: &str, id: &str) -> u64 {
        let attempts = self.field(target, id, "attempts").await;
        let attempts = attempts.unwrap_or_else(|| panic!("no record of {id}"));
        attempts.parse().expect("a number")
    }

    /// The result of a request from its commit until it is settled.
    pub(crate) async fn committed(&mut self, target: &str, id: &str) -> Option<String> {
        for partition in 0..PARTITIONS {
            let key = format!("puruto:{{p{partition:02}}}:result:{target}:{id}");
            let value: Option<String> = self.0.get(key).await.expect("a value");
            if value.is_some() {
                return value;
            }
        }
        None
    }

    /// How many requests wait without a worker.
    pub(crate) async fn waiting(&mut self) -> u64 {
        let mut waiting = 0;
        for partition in 0..PARTITIONS {
            let key = format!("puruto:{{p{partition:02}}}:waits");
            let count: u64 = self.0.zcard(key).await.expect("a count");
            waiting += count;
        }
        waiting
    }

    /// When a request got its result, in milliseconds since 1970 by the server's clock; `None` while
    /// it has none.
    pub(crate) async fn done_at(&mut self, target: &str, id: &str) -> Option<u64> {
        let at = self.field(target, id, "t1").await?;
        Some(at.parse().expect("a number"))
    }

    /// A field of a request's record, in whichever partition that is.
    pub(crate) async fn field(&mut self, target: &str, id: &str, field: &str) -> Option<String> {
        for partition in 0..PARTITIONS {
            let key = format!("puruto:{{p{partition:02}}}:req:{target}:{id}");
            let value: Option<String> = self.0.hget(key, field).await.expect("a field");
            if value.is_some() {
                return value;
            }
        }
        None
    }

    /// Changes a setting of the server.
    pub(crate) async fn set(&mut self, setting: &str, value: &str) {
        let mut command = redis::cmd("CONFIG");
        command.arg("SET").arg(setting).arg(value);
        let () = command.query_async(&mut self.0).await.expect("set");
    }

    /// Empties the server.
    pub(crate) async fn flush(&mut self) {
        let () = self.0.flushall().await.expect("emptied");
    }
}
