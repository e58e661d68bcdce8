//! The one connection, replaced whenever it breaks.
//!
//! Owns how long a call may take, when a connection is given up, and how it is made anew. A call
//! never waits longer than its bound: while there is no connection it waits out a short grace, and
//! after that it fails at once with the reason. Never: what a call means.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use redis::{Cmd, RedisError, Value, aio::MultiplexedConnection};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, timeout, timeout_at},
};

use super::{
    super::StoreFault,
    call::Call,
    dial::Dialer,
    fault::{self, Remedy},
    keeper,
    scripts::Script,
};
use crate::clock::Chance;

/// How often one call is sent at most: first, after a broken connection, after a missing script.
const SENDS_MAX: u32 = 3;
/// How many calls in a row may time out before the connection is given up.
const TIMEOUTS_MAX: u32 = 3;
/// For how long after a loss calls wait for the next connection.
const GRACE: Duration = Duration::from_secs(1);
/// The connection of one store.
#[derive(Debug)]
pub(super) struct Link {
    shared: Arc<Shared>,
    keeper: JoinHandle<()>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) dialer: Dialer,
    pub(super) line: watch::Sender<Line>,
    timeouts: AtomicU32,
    bound: Duration,
}

/// Whether there is a connection.
#[derive(Clone)]
pub(super) enum Line {
    Up {
        connection: MultiplexedConnection,
        since: Instant,
    },
    Down {
        fault: StoreFault,
        since: Instant,
    },
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Up { since, .. } => write!(f, "Up({since:?})"),
            Self::Down { fault, .. } => write!(f, "Down({fault})"),
        }
    }
}

impl Line {
    pub(super) fn up(connection: MultiplexedConnection) -> Self {
        let since = Instant::now();
        Self::Up { connection, since }
    }

    pub(super) const fn is_down(&self) -> bool {
        matches!(self, Self::Down { .. })
    }
}

impl Link {
    /// Connects, once; from then on the connection is kept. `bound` is how long a call may take.
    ///
    /// # Errors
    /// The server cannot be reached, refuses, or is not ready.
    pub(super) async fn connect(
        dialer: Dialer,
        bound: Duration,
        chance: Chance,
    ) -> Result<Self, StoreFault> {
        let connection = dialer.dial().await?;
        let shared = Arc::new(Shared {
            dialer,
            line: watch::Sender::new(Line::up(connection)),
            timeouts: AtomicU32::new(0),
            bound,
        });
        let keeper = tokio::spawn(keeper::keep(Arc::clone(&shared), chance));
        Ok(Self { shared, keeper })
    }

    pub(super) fn address(&self) -> &str {
        &self.shared.dialer.address
    }

    /// How long a call may take.
    pub(super) fn bound(&self) -> Duration {
        self.shared.bound
    }

    /// Runs a script. It may be carried out twice, or be carried out and reported as a fault.
    ///
    /// # Errors
    /// The store did not answer within the bound, or refused.
    pub(super) async fn call(&self, call: &Call) -> Result<Value, StoreFault> {
        let script = Some(call.script);
        self.bounded(call.script.name, &call.command, script).await
    }

    /// Runs a plain command, under the same conditions.
    ///
    /// # Errors
    /// The store did not answer within the bound, or refused.
    pub(super) async fn command(
        &self,
        operation: &'static str,
        command: &Cmd,
    ) -> Result<Value, StoreFault> {
        self.bounded(operation, command, None).await
    }

    async fn bounded(
        &self,
        operation: &'static str,
        command: &Cmd,
        script: Option<&Script>,
    ) -> Result<Value, StoreFault> {
        let shared = &*self.shared;
        let sending = shared.send(operation, command, script);
        match timeout(shared.bound, sending).await {
            Ok(answer) => answer,
            Err(_) => Err(shared.timed_out(operation)),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

impl Shared {
    /// Sends until there is an answer or a fault that sending again does not cure.
    async fn send(
        &self,
        operation: &'static str,
        command: &Cmd,
        script: Option<&Script>,
    ) -> Result<Value, StoreFault> {
        let mut sends = 1;
        loop {
            let (mut connection, since) = self.connection().await?;
            let error = match answer_of(&mut connection, command).await {
                Ok(value) => {
                    self.timeouts.store(0, Ordering::Relaxed);
                    return Ok(value);
                }
                Err(error) => error,
            };
            let (fault, remedy) = fault::classify(&error, operation, &self.dialer.address);
            match (remedy, script) {
                (Remedy::Report, _) | (Remedy::LoadScript, None) => return Err(fault),
                (Remedy::LoadScript, Some(script)) => {
                    if let Err(error) = load(&mut connection, script).await {
                        tracing::warn!(script = script.name, %error, "script not loaded");
                    }
                }
                (Remedy::Replace, _) => {
                    self.give_up(since, fault.clone());
                    return Err(fault);
                }
                (Remedy::ReplaceAndRetry, _) => self.give_up(since, fault.clone()),
            }
            if sends == SENDS_MAX {
                return Err(fault);
            }
            sends += 1;
        }
    }

    /// The connection and since when there is it, waiting out the grace while there is none.
    async fn connection(&self) -> Result<(MultiplexedConnection, Instant), StoreFault> {
        let (lost, why) = match &*self.line.borrow() {
            Line::Up { connection, since } => return Ok((connection.clone(), *since)),
            Line::Down { since, fault } => (*since, fault.clone()),
        };
        let mut line = self.line.subscribe();
        let waited = timeout_at(lost + GRACE, line.wait_for(|line| !line.is_down())).await;
        let Ok(Ok(line)) = waited else {
            return Err(why);
        };
        match &*line {
            Line::Up { connection, since } => Ok((connection.clone(), *since)),
            Line::Down { fault, .. } => Err(fault.clone()),
        }
    }

    fn timed_out(&self, operation: &'static str) -> StoreFault {
        let after = self.bound;
        let fault = StoreFault::TimedOut { operation, after };
        if self.timeouts.fetch_add(1, Ordering::Relaxed) + 1 >= TIMEOUTS_MAX {
            let since = match &*self.line.borrow() {
                Line::Up { since, .. } => Some(*since),
                Line::Down { .. } => None,
            };
            if let Some(since) = since {
                self.give_up(since, fault.clone());
            }
        }
        fault
    }

    /// Gives up the connection that there is since `since`, unless it was replaced already.
    fn give_up(&self, since: Instant, fault: StoreFault) {
        self.line.send_if_modified(|line| {
            let is_current = matches!(line, Line::Up { since: it, .. } if *it == since);
            if is_current {
                tracing::warn!(address = %self.dialer.address, %fault, "store connection given up");
                self.timeouts.store(0, Ordering::Relaxed);
                let since = Instant::now();
                *line = Line::Down { fault, since };
            }
            is_current
        });
    }
}

async fn answer_of(
    connection: &mut MultiplexedConnection,
    command: &Cmd,
) -> Result<Value, RedisError> {
    match connection.send_packed_command(command).await? {
        Value::ServerError(error) => Err(error.into()),
        value => Ok(value),
    }
}

/// Makes a script known to the server.
pub(super) async fn load(
    connection: &mut MultiplexedConnection,
    script: &Script,
) -> Result<(), RedisError> {
    let mut command = redis::cmd("SCRIPT");
    command.arg("LOAD").arg(script.source);
    answer_of(connection, &command).await.map(drop)
}
