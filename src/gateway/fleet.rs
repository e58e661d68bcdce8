//! The seam to the fleet as the gateway needs it, without the types of its connections.
//!
//! Never: a decision; each method is one of the client's.

use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::{
    client::{
        Arrival, Arrivals, Cancelled, Client, ClientFault, Exchange, Happenings, Heard, Hearing,
        Invocation, Prepared, Status, Submitted,
    },
    clock::WallTime,
    contract::{Event, InvocationResult, RequestId, Subjects},
    store::{
        Record, Records, RequestKey,
        executions::{Begun, Execution, Executions, Listed, ListedAfter, Owner},
    },
};

/// What a question to the fleet comes to.
pub type Asked<'a, T> = BoxFuture<'a, Result<T, ClientFault>>;

/// What is published under a subject, as it is heard. Dropping it ends it.
pub trait Subscribed: Send {
    /// What comes next; stays pending while nothing does. Safe to drop and call again.
    fn next(&mut self) -> BoxFuture<'_, Arrival>;
}

impl<A: Arrivals> Subscribed for A {
    fn next(&mut self) -> BoxFuture<'_, Arrival> {
        Box::pin(Arrivals::next(self))
    }
}

/// An answer as it is being written. Dropping it ends it.
pub trait Tokens: Send {
    /// What comes next; stays pending while nothing does. Safe to drop and call again.
    fn next(&mut self) -> BoxFuture<'_, Heard>;
}

impl<E: Exchange> Tokens for Hearing<E> {
    fn next(&mut self) -> BoxFuture<'_, Heard> {
        Box::pin(Self::next(self))
    }
}

/// The fleet, asked and listened to.
pub trait Fleet: Send + Sync + 'static {
    /// The time of day.
    fn now(&self) -> WallTime;
    /// The grammar of subjects.
    fn subjects(&self) -> &Subjects;
    /// As [`Client::prepare`].
    fn prepare(&self, invocation: Invocation) -> Result<Prepared, ClientFault>;
    /// As [`Client::allowance`].
    fn allowance(&self, prepared: &Prepared) -> Duration;
    /// As [`Client::refused`].
    fn refused<'a>(&'a self, prepared: &'a Prepared) -> Asked<'a, Option<InvocationResult>>;
    /// As [`Client::submit`].
    fn submit<'a>(&'a self, prepared: &'a Prepared) -> Asked<'a, Submitted>;
    /// As [`Executions::begin`].
    fn begin<'a>(
        &'a self,
        owner: &'a Owner,
        execution: &'a Execution,
        listed: Listed,
    ) -> Asked<'a, Begun>;
    /// As [`Executions::find`].
    fn find<'a>(&'a self, owner: &'a Owner, id: &'a RequestId) -> Asked<'a, Option<Execution>>;
    /// As [`Executions::list`].
    fn list<'a>(
        &'a self,
        owner: &'a Owner,
        after: Option<&'a ListedAfter>,
        most: usize,
    ) -> Asked<'a, Vec<Execution>>;
    /// As [`Client::standing`].
    fn standing<'a>(&'a self, execution: &'a Execution) -> Asked<'a, Option<Status>>;
    /// As [`Records::read`].
    fn records<'a>(&'a self, keys: &'a [RequestKey]) -> Asked<'a, Vec<Option<Record>>>;
    /// As [`Client::cancel`].
    fn cancel<'a>(&'a self, key: &'a RequestKey) -> Asked<'a, Vec<Cancelled>>;
    /// As [`Client::hear`].
    fn hear<'a>(&'a self, filter: &'a str) -> Asked<'a, Box<dyn Subscribed>>;
    /// As [`Client::hearing`].
    fn tokens<'a>(&'a self, execution: &'a Execution, next: u64) -> Asked<'a, Box<dyn Tokens>>;
    /// As [`Client::events_in`].
    fn events<'a>(&'a self, execution: &'a Execution) -> Asked<'a, Vec<Event>>;
}

impl<E: Happenings, R: Records + Executions> Fleet for Client<E, R> {
    fn now(&self) -> WallTime {
        Self::now(self)
    }

    fn subjects(&self) -> &Subjects {
        Self::subjects(self)
    }

    fn prepare(&self, invocation: Invocation) -> Result<Prepared, ClientFault> {
        Self::prepare(self, invocation)
    }

    fn allowance(&self, prepared: &Prepared) -> Duration {
        Self::allowance(self, prepared)
    }

    fn refused<'a>(&'a self, prepared: &'a Prepared) -> Asked<'a, Option<InvocationResult>> {
        Box::pin(Self::refused(self, prepared))
    }

    fn submit<'a>(&'a self, prepared: &'a Prepared) -> Asked<'a, Submitted> {
        Box::pin(Self::submit(self, prepared))
    }

    fn begin<'a>(
        &'a self,
        owner: &'a Owner,
        execution: &'a Execution,
        listed: Listed,
    ) -> Asked<'a, Begun> {
        Box::pin(self.begin_execution(owner, execution, listed))
    }

    fn find<'a>(&'a self, owner: &'a Owner, id: &'a RequestId) -> Asked<'a, Option<Execution>> {
        Box::pin(self.find_execution(owner, id))
    }

    fn list<'a>(
        &'a self,
        owner: &'a Owner,
        after: Option<&'a ListedAfter>,
        most: usize,
    ) -> Asked<'a, Vec<Execution>> {
        Box::pin(self.list_executions(owner, after, most))
    }

    fn standing<'a>(&'a self, execution: &'a Execution) -> Asked<'a, Option<Status>> {
        let Execution {
            key,
            correlation,
            fingerprint,
            ..
        } = execution;
        Box::pin(Self::standing(self, key, correlation, *fingerprint))
    }

    fn records<'a>(&'a self, keys: &'a [RequestKey]) -> Asked<'a, Vec<Option<Record>>> {
        Box::pin(self.records_at(keys))
    }

    fn cancel<'a>(&'a self, key: &'a RequestKey) -> Asked<'a, Vec<Cancelled>> {
        Box::pin(Self::cancel(self, &key.request, Some(&key.target)))
    }

    fn hear<'a>(&'a self, filter: &'a str) -> Asked<'a, Box<dyn Subscribed>> {
        Box::pin(async move {
            let heard: Box<dyn Subscribed> = Box::new(Self::hear(self, filter).await?);
            Ok(heard)
        })
    }

    fn tokens<'a>(&'a self, execution: &'a Execution, next: u64) -> Asked<'a, Box<dyn Tokens>> {
        Box::pin(async move {
            let Execution {
                key, correlation, ..
            } = execution;
            let hearing = self.hearing(correlation, &key.request, next).await?;
            let tokens: Box<dyn Tokens> = Box::new(hearing);
            Ok(tokens)
        })
    }

    fn events<'a>(&'a self, execution: &'a Execution) -> Asked<'a, Vec<Event>> {
        Box::pin(self.events_in(&execution.correlation, &execution.key.request))
    }
}
