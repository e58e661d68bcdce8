//! `puruto watch`: follows the results of one chain.

use std::{io, num::NonZeroU64, time::Duration};

use clap::Args;
use tokio::time::{Instant, timeout_at};

use super::{
    exit::Exit,
    failure::Failure,
    session::{GlobalArgs, World, connect, explain},
    show,
};
use crate::{
    broker::ResultMessage,
    contract::{CorrelationId, InvocationResult},
    policy::PolicySet,
};

/// Flags of `puruto watch`.
#[derive(Args, Debug)]
pub(super) struct WatchArgs {
    /// The chain
    #[arg(value_name = "CORRELATION_ID")]
    correlation_id: CorrelationId,
    /// End after this many results
    #[arg(long, value_name = "N")]
    count: Option<NonZeroU64>,
    /// End after this time (default: when interrupted)
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    timeout: Option<Duration>,
    /// Print JSON on a terminal as well
    #[arg(long)]
    json: bool,
}

/// Shows each result as it comes, those that are there already first.
pub(super) async fn run(
    args: &WatchArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    let gathered = global.gather(world, Vec::new())?;
    let client = connect(world, &gathered, PolicySet::default()).await?;
    let watch = client.watch(&args.correlation_id).await;
    let mut watch = watch.map_err(|fault| explain(&gathered, fault))?;
    let until = args.timeout.and_then(|it| Instant::now().checked_add(it));
    let mut left = args.count.map(NonZeroU64::get);
    while left != Some(0) {
        let next = match until {
            Some(until) => match timeout_at(until, watch.next()).await {
                Ok(next) => next,
                Err(_) => return Err(too_late(args)),
            },
            None => watch.next().await,
        };
        let message = next.map_err(|fault| explain(&gathered, fault))?;
        left = left.map(|left| left.saturating_sub(1));
        show_message(&message, args, world)?;
    }
    Ok(Exit::Ok)
}

/// Shows one result; what is none is said, since the others of the chain are worth watching.
fn show_message(message: &ResultMessage, args: &WatchArgs, world: &World) -> io::Result<()> {
    match serde_json::from_slice::<InvocationResult>(&message.body) {
        Ok(result) => {
            let reader = world.output.reader(args.json);
            show::result(&world.output, reader, None, &result)
        }
        Err(error) => {
            world.output.error(format_args!(
                "puruto: what stands under {} is no result: {error}",
                message.subject
            ));
            Ok(())
        }
    }
}

fn too_late(args: &WatchArgs) -> Failure {
    let within = humantime::format_duration(args.timeout.unwrap_or_default());
    Failure::Timeout(match args.count {
        Some(count) => format!("fewer than {count} results of this chain within {within}"),
        None => format!("the time to watch, {within}, is over"),
    })
}
