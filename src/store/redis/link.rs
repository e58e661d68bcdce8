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
    task::JoinSet,
    time::{Instant, timeout, timeout_at},
};

use super::{
    super::StoreFault,
    call::Call,
    dial::{Dialer, Dialled},
    fault::{self, Remedy},
    keeper,
    scripts::Script,
    switch,
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
    /// They end with it.
    _tasks: JoinSet<()>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) dialer: Dialer,
    pub(super) line: watch::Sender<Line>,
    timeouts: AtomicU32,
    bound: Duration,
}

/// Whether there is a connection.
#[derive(Debug)]
pub(super) enum Line {
    Up(Up),
    Down { fault: StoreFault, since: Instant },
}

/// A connection, where it leads to, and since when there is it.
#[derive(Clone)]
pub(super) struct Up {
    connection: MultiplexedConnection,
    pub(super) address: Arc<str>,
    since: Instant,
}

impl std::fmt::Debug for Up {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Up({}, {:?})", self.address, self.since)
    }
}

impl Line {
    pub(super) fn up(dialled: Dialled) -> Self {
        Self::Up(Up {
            connection: dialled.connection,
            address: dialled.address,
            since: Instant::now(),
        })
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
        let dialled = dialer.dial().await?;
        let shared = Arc::new(Shared {
            dialer,
            line: watch::Sender::new(Line::up(dialled)),
            timeouts: AtomicU32::new(0),
            bound,
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(keeper::keep(Arc::clone(&shared), chance));
        if let Some(sentinels) = shared.dialer.sentinels() {
            tasks.spawn(switch::watch(Arc::clone(&shared), sentinels));
        }
        Ok(Self {
            shared,
            _tasks: tasks,
        })
    }

    /// Where the store is; without user and password.
    pub(super) fn address(&self) -> Arc<str> {
        let at = self.shared.up().map(|up| up.address);
        at.unwrap_or_else(|| self.shared.dialer.address().into())
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
            let mut up = self.connection().await?;
            let error = match answer_of(&mut up.connection, command).await {
                Ok(value) => {
                    self.timeouts.store(0, Ordering::Relaxed);
                    return Ok(value);
                }
                Err(error) => error,
            };
            let (fault, remedy) = fault::classify(&error, operation, &up.address);
            match (remedy, script) {
                (Remedy::Report, _) | (Remedy::LoadScript, None) => return Err(fault),
                (Remedy::LoadScript, Some(script)) => {
                    if let Err(error) = load(&mut up.connection, script).await {
                        tracing::warn!(script = script.name, %error, "script not loaded");
                    }
                }
                (Remedy::Replace, _) => {
                    self.give_up(&up, fault.clone());
                    return Err(fault);
                }
                (Remedy::ReplaceAndRetry, _) => self.give_up(&up, fault.clone()),
            }
            if sends == SENDS_MAX {
                return Err(fault);
            }
            sends += 1;
        }
    }

    /// The connection, waiting out the grace while there is none.
    async fn connection(&self) -> Result<Up, StoreFault> {
        let (lost, why) = match &*self.line.borrow() {
            Line::Up(up) => return Ok(up.clone()),
            Line::Down { since, fault } => (*since, fault.clone()),
        };
        let mut line = self.line.subscribe();
        let waited = timeout_at(lost + GRACE, line.wait_for(|line| !line.is_down())).await;
        let Ok(Ok(line)) = waited else {
            return Err(why);
        };
        match &*line {
            Line::Up(up) => Ok(up.clone()),
            Line::Down { fault, .. } => Err(fault.clone()),
        }
    }

    /// The connection, if there is one at this moment.
    pub(super) fn up(&self) -> Option<Up> {
        match &*self.line.borrow() {
            Line::Up(up) => Some(up.clone()),
            Line::Down { .. } => None,
        }
    }

    fn timed_out(&self, operation: &'static str) -> StoreFault {
        let after = self.bound;
        let fault = StoreFault::TimedOut { operation, after };
        if self.timeouts.fetch_add(1, Ordering::Relaxed) + 1 >= TIMEOUTS_MAX
            && let Some(up) = self.up()
        {
            self.give_up(&up, fault.clone());
        }
        fault
    }

    /// Gives up this connection, unless it was replaced already.
    pub(super) fn give_up(&self, up: &Up, fault: StoreFault) {
        self.line.send_if_modified(|line| {
            let is_current = matches!(line, Line::Up(it) if it.since == up.since);
            if is_current {
                tracing::warn!(address = %up.address, %fault, "store connection given up");
                self.timeouts.store(0, Ordering::Relaxed);
                let since = Instant::now();
                *line = Line::Down { fault, since };
            }
            is_current
        });
    }
}

pub(super) async fn answer_of(
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
