//! Waits for a result, telling a person at a terminal where the request stands meanwhile.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tokio::time::sleep;

use super::output::Reader;
use crate::{
    client::{Client, ClientFault, Exchange, Pending, Standing, Status},
    contract::{InvocationResult, PurutoName, RequestId},
    store::{Records, kin::WaitsOn},
};

/// Between two questions where a request stands.
const ASK_EVERY: Duration = Duration::from_millis(500);

/// How fast the spinner turns.
const TURN_EVERY: Duration = Duration::from_millis(100);

/// What shows a person that something goes on; a program is shown nothing.
pub(super) fn spinner(reader: Reader) -> Option<ProgressBar> {
    (reader == Reader::Person).then(turning)
}

/// Waits for the result of `pending`.
pub(super) async fn wait<E: Exchange, R: Records>(
    client: &Client<E, R>,
    pending: Pending<E>,
    target: &PurutoName,
    spinner: Option<&ProgressBar>,
) -> Result<InvocationResult, ClientFault> {
    let Some(spinner) = spinner else {
        return pending.result().await;
    };
    let request = pending.request_id().clone();
    let result = tokio::select! {
        result = Box::pin(pending.result()) => result,
        never = Box::pin(follow(client, &request, target, spinner)) => match never {},
    };
    spinner.finish_and_clear();
    result
}

fn turning() -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    // The template is a constant of ours; were it wrong, the plain style would do.
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  {elapsed}") {
        spinner.set_style(style);
    }
    spinner.set_message("queued");
    spinner.enable_steady_tick(TURN_EVERY);
    spinner
}

/// Shows where the request stands for as long as it runs. A store that cannot be asked is no
/// reason to stop waiting.
async fn follow<E: Exchange, R: Records>(
    client: &Client<E, R>,
    request: &RequestId,
    target: &PurutoName,
    spinner: &ProgressBar,
) -> std::convert::Infallible {
    loop {
        sleep(ASK_EVERY).await;
        if let Ok(found) = client.status(request, Some(target)).await {
            spinner.set_message(found.first().map_or_else(|| "queued".to_owned(), words));
        }
    }
}

/// Where a request stands, in a word or two.
pub(super) fn words(status: &Status) -> String {
    let attempt = status.attempts.unwrap_or(1);
    match &status.standing {
        Standing::Intended => "written down, not taken by a worker yet".to_owned(),
        Standing::Waiting {
            cancelled: true, ..
        } => "being cancelled".to_owned(),
        Standing::Waiting {
            on: WaitsOn::Children,
            ..
        } => "waiting for requests that it made".to_owned(),
        Standing::Waiting {
            on: WaitsOn::Verdict,
            ..
        } => "waiting to be approved or rejected".to_owned(),
        Standing::Flagged => "to be cancelled when a worker takes it".to_owned(),
        Standing::Claimed {
            cancelled: true, ..
        } => "being cancelled".to_owned(),
        Standing::Claimed {
            owner_alive: true, ..
        } => format!("running, attempt {attempt}"),
        Standing::Claimed {
            owner_alive: false, ..
        } => format!("its worker died in attempt {attempt}; waiting for another"),
        Standing::Released => "given back by a worker; queued".to_owned(),
        Standing::Done(_) => "done".to_owned(),
    }
}
