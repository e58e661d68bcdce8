//! Which server is the master, as Sentinels tell.
//!
//! Owns a connection to each Sentinel and the choice between their answers. Never: a connection to
//! the master.

use std::time::Duration;

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionInfo, IntoConnectionInfo as _, RedisResult,
    Value, aio::MultiplexedConnection,
};
use tokio::{sync::Mutex, time::timeout};

use super::{
    super::StoreFault,
    answer,
    fault::{self, nonsense},
    options::SentinelLogin,
    place::NamedMaster,
};

/// How long one Sentinel may take to answer, with connecting to it.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// What the question is called in a fault.
const OPERATION: &str = "sentinel master";

/// The Sentinels of one master.
#[derive(Debug)]
pub(super) struct Sentinels {
    master: NamedMaster,
    nodes: Vec<Node>,
    question: Cmd,
}

/// One of them, with the connection to it that was good last.
#[derive(Debug)]
struct Node {
    client: Client,
    address: String,
    connection: Mutex<Option<MultiplexedConnection>>,
}

/// What one of them takes for the master.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    host: String,
    port: u16,
    /// Grows with each failover.
    epoch: u64,
}

impl Sentinels {
    /// # Errors
    /// [`StoreFault::Unsuitable`] when TLS is asked for and cannot be had.
    pub(super) fn new(master: &NamedMaster, login: &SentinelLogin) -> Result<Self, StoreFault> {
        let node = |address: &redis::ConnectionAddr| {
            let info = address.clone().into_connection_info();
            let client = info.and_then(|info| {
                let settings = login.apply(info.redis_settings().clone());
                Client::open(info.set_redis_settings(settings))
            });
            let address = address.to_string();
            Ok(Node {
                client: client.map_err(|error| fault::classify(&error, OPERATION, &address).0)?,
                address,
                connection: Mutex::default(),
            })
        };
        let mut question = redis::cmd("SENTINEL");
        question.arg("MASTER").arg(&*master.name);
        Ok(Self {
            nodes: master
                .sentinels
                .iter()
                .map(node)
                .collect::<Result<_, _>>()?,
            master: master.clone(),
            question,
        })
    }

    /// The master: what the newest configuration says among those that more than half of the
    /// Sentinels know, or as many as answer.
    ///
    /// # Errors
    /// Why the last of them does not say, when none does.
    pub(super) async fn master(&self) -> Result<ConnectionInfo, StoreFault> {
        let mut asked: FuturesUnordered<_> = self.nodes.iter().map(|it| self.ask(it)).collect();
        let mut named = Vec::with_capacity(self.nodes.len());
        let mut why = None;
        while let Some(answer) = asked.next().await {
            match answer {
                Ok(master) => named.push(master),
                Err(fault) => why = worth_telling(why, fault),
            }
            if named.len() > self.nodes.len() / 2 {
                break;
            }
        }
        match (newest(named), why) {
            (Some(Named { host, port, .. }), _) => Ok(self.master.server(host, port)),
            (None, Some(fault)) => Err(fault),
            (None, None) => Err(fault::unreachable(
                &self.master.to_string(),
                "none is named",
            )),
        }
    }

    async fn ask(&self, node: &Node) -> Result<Named, StoreFault> {
        let fault = match timeout(ANSWER_WITHIN, node.ask(&self.question)).await {
            Ok(Ok(answer)) => {
                return named(&answer).ok_or_else(|| nonsense(OPERATION, &answer));
            }
            Ok(Err(error)) => self.refused(node, &error),
            Err(_) => fault::unreachable(&node.address, "the sentinel is silent"),
        };
        *node.connection.lock().await = None;
        Err(fault)
    }

    fn refused(&self, node: &Node, error: &redis::RedisError) -> StoreFault {
        if error
            .detail()
            .is_some_and(|it| it.starts_with("No such master"))
        {
            let (address, name) = (&node.address, &self.master.name);
            return StoreFault::Unsuitable(format!(
                "the sentinel at {address} watches no master called {name}; check redis.url"
            ));
        }
        fault::classify(error, OPERATION, &node.address).0
    }
}

impl Node {
    async fn ask(&self, question: &Cmd) -> RedisResult<Value> {
        let mut connection = self.connected().await?;
        match connection.send_packed_command(question).await? {
            Value::ServerError(error) => Err(error.into()),
            answer => Ok(answer),
        }
    }

    /// The connection that there is, or a new one.
    async fn connected(&self) -> RedisResult<MultiplexedConnection> {
        let mut kept = self.connection.lock().await;
        if let Some(connection) = &*kept {
            return Ok(connection.clone());
        }
        let connection = self.connect().await?;
        Ok(kept.insert(connection).clone())
    }

    async fn connect(&self) -> RedisResult<MultiplexedConnection> {
        // The question as a whole has its bound.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None);
        self.client
            .get_multiplexed_async_connection_with_config(&config)
            .await
    }
}

/// Names and values in turn.
fn named(answer: &Value) -> Option<Named> {
    let (pairs, _) = answer::array(answer)?.as_chunks::<2>();
    let field = |wanted: &str| {
        let named = |[name, _]: &&[Value; 2]| answer::text(name) == Some(wanted);
        pairs.iter().find(named).map(|[_, value]| value)
    };
    Some(Named {
        host: answer::text(field("ip")?)?.to_owned(),
        port: u16::try_from(answer::whole(field("port")?)?).ok()?,
        epoch: answer::whole(field("config-epoch")?)?,
    })
}

fn newest(named: Vec<Named>) -> Option<Named> {
    named.into_iter().max_by_key(|it| it.epoch)
}

/// Nobody needs to act on a Sentinel's ignorance while another one may know better.
fn worth_telling(known: Option<StoreFault>, next: StoreFault) -> Option<StoreFault> {
    match (known, &next) {
        (Some(known), StoreFault::Unsuitable(_)) => Some(known),
        (_, _) => Some(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(port: &str, epoch: &str) -> Value {
        let words = [
            "name",
            "main",
            "ip",
            "::1",
            "port",
            port,
            "config-epoch",
            epoch,
        ];
        let value = |it: &&str| Value::BulkString(it.as_bytes().to_vec());
        Value::Array(words.iter().map(value).collect())
    }

    #[test]
    fn the_newest_configuration_outweighs_the_others() {
        let answers = [("6379", "3"), ("6380", "12"), ("6381", "4")];
        let named: Vec<_> = answers
            .iter()
            .map(|(port, epoch)| named(&answered(port, epoch)).expect("a master"))
            .collect();
        assert_eq!(newest(named).map(|it| it.port), Some(6380));
    }

    #[test]
    fn what_names_no_master_is_no_answer() {
        assert_eq!(named(&Value::Nil), None);
        assert_eq!(named(&answered("66000", "1")), None);
        assert_eq!(named(&Value::Array(Vec::new())), None);
    }

    #[test]
    fn a_sentinel_that_is_away_may_know_better_than_one_that_knows_nothing() {
        let ignorant = || StoreFault::Unsuitable("no such master".into());
        let away = || fault::unreachable("s1:26379", "refused");
        for faults in [[ignorant(), away()], [away(), ignorant()]] {
            let told = faults.into_iter().fold(None, worth_telling);
            assert_eq!(told.map(|it| it.kind()), Some("unreachable"));
        }
    }
}
