//! Command: a local program of the Puruto answers. The request goes to its standard input, its
//! InvocationResult comes from its standard output.
//!
//! Never: a shell, a variable that its configuration does not name, or a process of its group
//! that goes on when nobody waits for the answer any more.

mod answer;
mod config;
mod exchange;
mod fault;
mod program;
mod stderr;

use std::{
    fmt,
    path::{Path, PathBuf},
    pin::pin,
    process::ExitStatus,
    time::Duration,
};

use futures_util::future::{BoxFuture, Either, select};
use tokio::time::timeout;

pub use self::config::CommandConfig;
use self::{
    exchange::exchange,
    fault::Fault,
    program::{Pipes, Program},
};
use super::{Context, Ended, Handler};
use crate::contract::{InvocationRequest, Outcome, ResultError};

/// How long the pipes of a program that has ended may stay open. Its group is dead by then: only
/// a process that has left the group can hold them.
const PIPES_CLOSE_WITHIN: Duration = Duration::from_secs(1);

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
        let named = config.env.iter().map(|name| name.as_str());
        let set = named.filter_map(|name| Some((name.to_owned(), lookup(name)?)));
        Self {
            environment: set.collect(),
            folder: folder.to_owned(),
            config,
        }
    }

    async fn run(&self, request: &InvocationRequest) -> Result<Outcome, Fault> {
        let (program, pipes) = self.start().map_err(Fault::NotStarted)?;
        let body = request.to_json();
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
            match self.run(&context.request).await {
                Ok(Outcome::Ok(result)) => Ok(Ended::Answer(result)),
                Ok(Outcome::Error(error)) => Err(error),
                Err(fault) => Err(fault.to_result_error(self.config.argv.program())),
            }
        })
    }
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
mod tests;
