//! `puruto run work`: works on one run here, in the foreground, until it has ended.

use std::time::Duration;

use tokio::time::sleep;

use super::{Of, show};
use crate::{
    cli::{
        exit::Exit,
        failure::Failure,
        session::explain,
        worker::single::{SESSION_TTL, Single},
    },
    client::{ClientFault, Queued, Sought, Standing},
    store::{RequestKey, kin::WaitsOn},
};

/// Between two tries while others have to do their part.
const AGAIN: Duration = Duration::from_millis(200);

pub(super) async fn work(of: &Of<'_>) -> Result<Exit, Failure> {
    of.known().await?;
    if message_of(of).await?.is_some() {
        let (config, environment) = (&of.gathered.config, &of.world.environment);
        let mut single = Single::open(config, environment, &of.key.target).await?;
        let walked = walk(of, &mut single).await;
        single.close().await;
        walked?;
    }
    show::show(of).await?;
    let RequestKey { target, request } = &of.key;
    let result = of.fleet.client.result(request, Some(target)).await;
    let result = result.map_err(|fault| explain(of.gathered, fault))?;
    Ok(result.as_ref().map_or(Exit::Ok, Exit::of))
}

/// Walks with its message again and again until that is gone.
async fn walk(of: &Of<'_>, single: &mut Single) -> Result<(), Failure> {
    let mut said = None;
    while let Some(queued) = message_of(of).await? {
        if single.walk(queued.message, queued.lane).await {
            break;
        }
        let words = where_it_stands(of).await?;
        if said != words {
            if let Some(words) = words {
                of.world.output.error(format_args!("puruto: {words}"));
            }
            said = words;
        }
        sleep(AGAIN).await;
    }
    Ok(())
}

async fn message_of(of: &Of<'_>) -> Result<Option<Queued>, Failure> {
    let RequestKey { target, request } = &of.key;
    let queued = of
        .fleet
        .client
        .queued(Sought::Request(request), Some(target))
        .await;
    let queued = queued.map_err(|fault: ClientFault| explain(of.gathered, fault))?;
    Ok(queued.into_iter().next())
}

/// Why it does not go on here, for whoever waits.
async fn where_it_stands(of: &Of<'_>) -> Result<Option<&'static str>, Failure> {
    let RequestKey { target, request } = &of.key;
    let status = of.fleet.client.status(request, Some(target)).await;
    let status = status.map_err(|fault| explain(of.gathered, fault))?;
    const { assert!(SESSION_TTL.as_secs() == 4, "the words below name it") };
    Ok(status.first().and_then(|it| match it.standing {
        Standing::Claimed {
            owner_alive: true, ..
        } => Some(
            "another process has it, or died with it moments ago (a claim of `work` outlives it \
             by at most 4 s); waiting",
        ),
        Standing::Waiting {
            on: WaitsOn::Children,
            ..
        } => Some("it waits for requests that it made of others; `puruto why` tells for which"),
        Standing::Waiting {
            on: WaitsOn::Verdict,
            ..
        } => Some("it waits to be approved: `puruto approve ID --by NAME`"),
        Standing::Claimed { .. }
        | Standing::Intended
        | Standing::Flagged
        | Standing::Released
        | Standing::Done(_) => None,
    }))
}
