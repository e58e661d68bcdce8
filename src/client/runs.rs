//! The runs of agents as a caller begins and sees them.

use super::{Client, ClientFault, Exchange, Invocation, Invoked, Queue, Sought};
use crate::{
    contract::InvocationResult,
    store::{
        RecordState, Records, RequestKey, Runs,
        run::{NewRun, Run, RunEvent},
    },
};

/// What beginning a run came to.
#[derive(Debug)]
pub enum Begun {
    /// It is there, made now or before.
    Run(Box<Run>),
    /// The caller may not, or there is no such target.
    Refused(Box<InvocationResult>),
}

impl<E: Exchange + Queue, R: Records + Runs> Client<E, R> {
    /// Begins the run of a request with an id of its own, unless it is there already: asks, and
    /// writes down with which model it is to be done, and for what.
    ///
    /// # Errors
    /// Broker or store did not answer, or the id is that of a run for something else. Beginning it
    /// again does no harm.
    pub async fn begin_run(
        &self,
        key: &RequestKey,
        invocation: Invocation,
        model: String,
    ) -> Result<Begun, ClientFault> {
        let new = NewRun {
            model,
            goal: invocation.prompt.clone(),
        };
        if let Some(run) = self.run(key).await? {
            same_goal(key, &run, &new)?;
            if !self.is_lost(key).await? {
                return Ok(Begun::Run(Box::new(run)));
            }
        }
        if let Invoked::Refused(result) = self.invoke(invocation).await? {
            return Ok(Begun::Refused(Box::new(result)));
        }
        let run = self.records.create(key, &new).await?;
        same_goal(key, &run, &new)?;
        Ok(Begun::Run(Box::new(run)))
    }

    /// Whether nobody has claimed it and its message is nowhere.
    async fn is_lost(&self, key: &RequestKey) -> Result<bool, ClientFault> {
        let records = self.records.read(std::slice::from_ref(key)).await?;
        let state = records.into_iter().flatten().map(|it| it.state).next();
        if !matches!(state, None | Some(RecordState::Intended)) {
            return Ok(false);
        }
        let sought = Sought::Request(&key.request);
        let queued = self.queued(sought, Some(&key.target)).await?;
        Ok(queued.is_empty())
    }
}

impl<E: Exchange, R: Records + Runs> Client<E, R> {
    /// Where a run stands; changes nothing.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn run(&self, key: &RequestKey) -> Result<Option<Run>, ClientFault> {
        Ok(self.records.run(key).await?)
    }

    /// What happened to a run after the event `after`, oldest first.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn run_events(
        &self,
        key: &RequestKey,
        after: u64,
    ) -> Result<Vec<RunEvent>, ClientFault> {
        Ok(Runs::events(&*self.records, key, after).await?)
    }
}

fn same_goal(key: &RequestKey, run: &Run, new: &NewRun) -> Result<(), ClientFault> {
    if run.goal == new.goal {
        return Ok(());
    }
    Err(ClientFault::OtherGoal {
        request: key.request.clone(),
        goal: run.goal.clone(),
    })
}
