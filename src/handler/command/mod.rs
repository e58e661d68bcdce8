//! Command: a local program of the Puruto answers. The request goes to its standard input, its
//! InvocationResult comes from its standard output; or a delegation does, and it is run again when
//! others have done their part.
//!
//! Never: a shell, a variable that its configuration does not name, or a process of its group
//! that goes on when nobody waits for the answer any more.

mod answer;
mod config;
mod delegate;
mod exchange;
mod fault;

use std::{
    fmt,
    path::{Path, PathBuf},
    pin::pin,
    process::ExitStatus,
    time::Duration,
};

use futures_util::future::{BoxFuture, Either, select};
use serde_json::json;
use tokio::time::timeout;

pub use self::config::CommandConfig;
use self::{answer::Written, exchange::exchange, fault::Fault};
use super::{
    Context, Ended, Handler,
    asked::Asked,
    delegating::{ChildOutcome, Delegating},
    program::{self, Pipes, Program},
};
use crate::contract::{Delegation, InvocationRequest, Outcome, ResultError, Step};

/// How long the pipes of a program that has ended may stay open. Its group is dead by then: only
/// a process that has left the group can hold them.
const PIPES_CLOSE_WITHIN: Duration = Duration::from_secs(1);

/// The field of a request in which a program reads what came of its delegations.
const DELEGATED: &str = "delegated";

/// Answers each request with one run of a program.
pub struct Command {
    config: CommandConfig,
    folder: PathBuf,
    environment: Vec<(String, String)>,
}

impl fmt::Debug for Command {
    /// Without the environment: its values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Command({:?} in {:?})", self.config, self.folder)
    }
}

impl Command {
    /// A program that runs in `folder`, the Puruto's; `lookup` has the worker's environment, of
    /// which the program sees what `config` names.
    pub fn new(
        config: CommandConfig,
        folder: &Path,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Self {
        Self {
            environment: program::environment(&config.env, lookup),
            folder: folder.to_owned(),
            config,
        }
    }

    async fn run(&self, context: &Context) -> Result<Written, Fault> {
        let request = &context.request;
        let body = body(request, &*context.delegating).await;
        let (program, pipes) = self.start().map_err(Fault::NotStarted)?;
        let exchange = exchange(pipes, &body, self.config.output_max);
        let (output, status) = both(exchange, program).await?;
        if !status.success() {
            return Err(Fault::Failed(status));
        }
        answer::read(&output, request).map_err(Fault::Answer)
    }

    fn start(&self) -> std::io::Result<(Program, Pipes)> {
        let argv = &self.config.argv;
        let mut command = tokio::process::Command::new(argv.program());
        command
            .args(argv.arguments())
            .current_dir(&self.folder)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        Program::start(&mut command)
    }
}

impl Handler for Command {
    fn handle(&self, context: Context) -> BoxFuture<'_, Result<Ended, ResultError>> {
        Box::pin(async move {
            match self.run(&context).await {
                Ok(Written::Outcome(Outcome::Ok(result))) => Ok(Ended::Answer(result)),
                Ok(Written::Outcome(Outcome::Error(error))) => Err(error),
                Ok(Written::Delegate(asked)) => planned(asked, &*context.delegating),
                Err(fault) => Err(fault.to_result_error(self.config.argv.program())),
            }
        })
    }
}

/// The request as the program reads it: with `delegated`, what came of each of its delegations, if
/// there were any. What a caller wrote there is left out: it may be made up.
async fn body(request: &InvocationRequest, delegating: &dyn Delegating) -> Vec<u8> {
    let mut request = request.clone();
    request.extra.shift_remove(DELEGATED);
    let mut delegated = Vec::with_capacity(delegating.over().len());
    for step in delegating.over() {
        let children = delegating.outcome(*step).await.unwrap_or_default();
        let told = children.iter().map(ChildOutcome::to_observation);
        delegated.push(json!({"step": step, "children": told.collect::<Vec<_>>()}));
    }
    if !delegated.is_empty() {
        request.extra.insert(DELEGATED.to_owned(), delegated.into());
    }
    request.to_json()
}

/// The plan, by which the turn ends.
fn planned(asked: Asked, delegating: &dyn Delegating) -> Result<Ended, ResultError> {
    let before = u32::try_from(delegating.over().len()).unwrap_or(u32::MAX);
    let planned = delegating.plan(Delegation {
        step: Step::new(before),
        children: asked.children,
        join: asked.join,
    });
    planned
        .map(Ended::Delegate)
        .map_err(|refused| refused.to_result_error())
}

/// Waits for the end of `program` and for all that it wrote, whichever comes first; a fault of
/// the exchange kills it.
async fn both(
    exchange: impl Future<Output = Result<Vec<u8>, Fault>>,
    program: Program,
) -> Result<(Vec<u8>, ExitStatus), Fault> {
    match select(pin!(exchange), pin!(program.ended())).await {
        Either::Left((output, ended)) => Ok((output?, ended.await.map_err(Fault::System)?)),
        Either::Right((status, exchange)) => {
            let status = status.map_err(Fault::System)?;
            let output = timeout(PIPES_CLOSE_WITHIN, exchange).await;
            Ok((output.map_err(|_| Fault::LeftOpen)??, status))
        }
    }
}

#[cfg(test)]
mod delegation_tests;
#[cfg(test)]
mod tests;
