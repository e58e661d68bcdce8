//! `puruto run new`: asks an agent under an id that its caller chose.

use std::time::Duration;

use clap::Args;

use super::{Of, OfArgs, show};
use crate::{
    cli::{
        asker::{Asker, asker},
        exit::Exit,
        failure::Failure,
        session::explain,
        show as results,
        worker::single::{looked_up, prepare},
    },
    client::{Begun, Invocation},
    contract::{ActionName, PurutoName, RequestId, TimeoutSec},
    puruto::{Actions, Puruto},
};

/// What an agent is asked to do that lists no actions.
const ACTION: &str = "run";

/// Flags of `puruto run new`.
#[derive(Args, Debug)]
pub(super) struct NewArgs {
    /// The run: an id that you choose
    #[arg(value_name = "ID")]
    pub(super) id: RequestId,
    /// What it is to find out
    #[arg(value_name = "GOAL")]
    goal: String,
    #[command(flatten)]
    pub(super) of: OfArgs,
    /// What the agent is asked to do (default: the first that its worker.toml lists)
    #[arg(long, value_name = "NAME")]
    action: Option<ActionName>,
    /// Who asks (default: the owner of ./.puruto-ipc.json, else client.caller)
    #[arg(long, value_name = "NAME")]
    caller: Option<PurutoName>,
    /// How long it may take in all, waiting for `work` included
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = humantime::parse_duration)]
    timeout: Duration,
}

pub(super) async fn begin(of: &Of<'_>, args: NewArgs) -> Result<Exit, Failure> {
    let (config, environment) = (&of.gathered.config, &of.world.environment);
    let (puruto, route) = looked_up(config, environment, &of.key.target).await?;
    let Some(route) = route else {
        return Err(Failure::Usage(format!(
            "{} keeps no runs: its worker.toml says another kind than agent; \
             `puruto invoke` asks it",
            of.key.target
        )));
    };
    prepare(config, &of.key.target).await?;
    let Asker { caller, policies } = asker(args.caller.clone(), &of.world.folder, config)?;
    let timeout = TimeoutSec::new(args.timeout.as_secs());
    let timeout = timeout.ok_or_else(|| Failure::Usage("--timeout: expected 1s to 24h".into()))?;
    let invocation = Invocation {
        timeout: Some(timeout),
        request_id: Some(of.key.request.clone()),
        correlation_id: of.key.request.as_str().parse().ok(),
        ..Invocation::new(
            caller,
            of.key.target.clone(),
            action(args.action, &puruto)?,
            args.goal,
        )
    };
    let client = of.fleet.asking_by(of.world, of.gathered, policies);
    let begun = client.begin_run(&of.key, invocation, route).await;
    match begun.map_err(|fault| explain(of.gathered, fault))? {
        Begun::Run(_) => show::show(of).await,
        Begun::Refused(result) => {
            let reader = of.world.output.reader(of.json);
            results::result(&of.world.output, reader, None, &result)?;
            Ok(Exit::of(&result))
        }
    }
}

fn action(named: Option<ActionName>, puruto: &Puruto) -> Result<ActionName, Failure> {
    let listed = puruto.worker.as_ref().map(|it| &it.actions);
    let first = match listed {
        Some(Actions::Only(listed)) => listed.keys().next().cloned(),
        Some(Actions::Every) | None => None,
    };
    let action = named.or(first).or_else(|| ACTION.parse().ok());
    action.ok_or_else(|| Failure::Usage("name an action".to_owned()))
}
