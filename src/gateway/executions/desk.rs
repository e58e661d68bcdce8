//! Starts executions and answers for them.

use std::{fmt, sync::Arc, time::Duration};

use super::{
    IdempotencyKey,
    state::{Gone, State},
    watch::{Hub, Watched},
};
use crate::{
    client::{ClientFault, Invocation, Prepared, Submitted},
    contract::{Deadline, Outcome, RequestId, ResultError},
    gateway::{fleet::Fleet, principal::Principal},
    store::executions::{Begun, Execution, Listed, ListedAfter},
};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Order {
    /// Whose the execution will be.
    pub who: Principal,
    /// How the caller calls itself; tells apart those who have no proven identity.
    pub caller: Box<str>,
    /// By which name it is asked for.
    pub skill: Box<str>,
    /// The request. Its ids are made here unless it has them.
    pub invocation: Invocation,
    /// Under which key the same order is the same execution.
    pub idempotency: Option<IdempotencyKey>,
}

/// An execution that was started.
#[derive(Clone, Debug)]
pub struct Started {
    /// The execution.
    pub execution: Execution,
    /// Whether it was started before, under the same key.
    pub repeated: bool,
}

/// Why none was started.
#[derive(Debug)]
pub enum Unstarted {
    /// The fleet would not take it.
    Refused(ResultError),
    /// Its key was used for another order.
    Conflict,
    /// The fleet did not answer.
    Fault(ClientFault),
}

/// An execution as it stands.
#[derive(Clone, Debug)]
pub struct Sighted {
    /// The execution.
    pub execution: Execution,
    /// How it stands.
    pub state: State,
}

/// Why nothing can be told of an execution.
#[derive(Debug)]
pub enum Unfound {
    /// There is none of this id that whoever asks may see.
    Unknown,
    /// There was one, and its result is kept no longer.
    Gone,
    /// The fleet did not answer.
    Fault(ClientFault),
}

impl From<ClientFault> for Unstarted {
    fn from(fault: ClientFault) -> Self {
        Self::Fault(fault)
    }
}

impl From<ClientFault> for Unfound {
    fn from(fault: ClientFault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Gone> for Unfound {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

/// Where executions are started, seen and cancelled. Clones are the same desk.
#[derive(Clone)]
pub struct Desk {
    fleet: Arc<dyn Fleet>,
    hub: Hub,
    /// For how long results are kept.
    kept: Duration,
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Desk")
    }
}

impl Desk {
    /// A desk on this fleet, which keeps results for so long.
    pub fn new(fleet: Arc<dyn Fleet>, hub: Hub, kept: Duration) -> Self {
        Self { fleet, hub, kept }
    }

    /// Writes an execution down, then publishes its request. Once this returns it will be answered,
    /// whatever becomes of this process.
    pub async fn start(&self, order: Order) -> Result<Started, Unstarted> {
        let owner = order.who.owner();
        let prepared = self.prepare(&order)?;
        if let Some(refused) = self.fleet.refused(&prepared).await? {
            return Err(refusal(refused.outcome));
        }
        let execution = self.execution(order.skill, &prepared);
        let listed = if order.who.is_known() {
            Listed::Yes
        } else {
            Listed::No
        };
        match self.fleet.begin(&owner, &execution, listed).await? {
            Begun::New => {
                self.publish(&prepared).await?;
                let repeated = false;
                Ok(Started {
                    execution,
                    repeated,
                })
            }
            Begun::Same(begun) => self.again(order.invocation, begun).await,
            Begun::Conflict => Err(Unstarted::Conflict),
        }
    }

    fn prepare(&self, order: &Order) -> Result<Prepared, ClientFault> {
        let mut invocation = order.invocation.clone();
        if let Some(key) = &order.idempotency {
            let id = key.id(&order.who.owner(), &order.caller);
            invocation.request_id = Some(id);
        }
        self.fleet.prepare(invocation)
    }

    fn execution(&self, skill: Box<str>, prepared: &Prepared) -> Execution {
        let created = self.fleet.now();
        Execution {
            key: prepared.key(),
            correlation: prepared.request().correlation_id.clone(),
            skill,
            fingerprint: prepared.fingerprint(),
            created,
            deadline: Deadline::of(created, self.fleet.allowance(prepared), None),
        }
    }

    /// What was begun before is published again where nobody knows of it: whoever began it may have
    /// died on the way.
    async fn again(&self, invocation: Invocation, begun: Execution) -> Result<Started, Unstarted> {
        if self.fleet.standing(&begun).await?.is_none() {
            let prepared = self.fleet.prepare(Invocation {
                request_id: Some(begun.key.request.clone()),
                correlation_id: Some(begun.correlation.clone()),
                deadline: Some(begun.deadline.at()),
                ..invocation
            })?;
            self.publish(&prepared).await?;
        }
        Ok(Started {
            execution: begun,
            repeated: true,
        })
    }

    async fn publish(&self, prepared: &Prepared) -> Result<(), Unstarted> {
        match self.fleet.submit(prepared).await? {
            Submitted::Stored => Ok(()),
            Submitted::Refused(refused) => Err(refusal(refused.outcome)),
        }
    }

    /// The execution of this id, if whoever asks may see it: their own, or one that nobody in
    /// particular started.
    pub async fn find(&self, who: &Principal, id: &str) -> Result<Execution, Unfound> {
        let id: RequestId = id.parse().map_err(|_| Unfound::Unknown)?;
        if let Some(own) = self.fleet.find(&who.owner(), &id).await? {
            return Ok(own);
        }
        if who.is_known() {
            let anonymous = Principal::Anonymous.owner();
            if let Some(anybodys) = self.fleet.find(&anonymous, &id).await? {
                return Ok(anybodys);
            }
        }
        Err(Unfound::Unknown)
    }

    /// How an execution stands.
    pub async fn state(&self, execution: &Execution) -> Result<State, Unfound> {
        let status = self.fleet.standing(execution).await?;
        Ok(State::of(execution, status, self.fleet.now(), self.kept)?)
    }

    /// The execution of this id and how it stands.
    pub async fn sight(&self, who: &Principal, id: &str) -> Result<Sighted, Unfound> {
        let execution = self.find(who, id).await?;
        let state = self.state(&execution).await?;
        Ok(Sighted { execution, state })
    }

    /// The executions of whoever asks, the latest first, each as it stands; none where nothing more
    /// is kept of it.
    pub async fn list(
        &self,
        who: &Principal,
        after: Option<&ListedAfter>,
        most: usize,
    ) -> Result<Vec<(Execution, Option<State>)>, Unfound> {
        let listed = self.fleet.list(&who.owner(), after, most).await?;
        let seen = listed.into_iter().map(|execution| async move {
            match self.state(&execution).await {
                Ok(state) => Ok((execution, Some(state))),
                Err(Unfound::Gone | Unfound::Unknown) => Ok((execution, None)),
                Err(fault @ Unfound::Fault(_)) => Err(fault),
            }
        });
        futures_util::future::try_join_all(seen).await
    }

    /// Asks that an execution be cancelled with all that it asked; how it stands then. One that has
    /// ended stays as it is.
    pub async fn cancel(&self, execution: &Execution) -> Result<State, Unfound> {
        let state = self.state(execution).await?;
        if state.status().is_final() {
            return Ok(state);
        }
        self.fleet.cancel(&execution.key).await?;
        self.state(execution).await
    }

    /// The same execution as it goes on.
    pub async fn watch(&self, execution: &Execution) -> Result<Arc<Watched>, Unfound> {
        self.hub.watch(execution).await
    }

    /// The fleet itself.
    pub fn fleet(&self) -> &dyn Fleet {
        &*self.fleet
    }
}

/// What a caller is told whose request was not published.
fn refusal(outcome: Outcome) -> Unstarted {
    match outcome {
        Outcome::Error(error) => Unstarted::Refused(error),
        // Nothing is refused with a result.
        Outcome::Ok(_) => Unstarted::Conflict,
    }
}

#[cfg(test)]
#[path = "desk_tests.rs"]
mod tests;
