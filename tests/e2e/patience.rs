//! How long a test waits for what it expects, how, and how often it does what it does.

use std::{env, time::Duration};

use tokio::time::{Instant, sleep};

/// The longest wait for anything that must happen: generous, since it ends with the event.
pub(crate) const WITHIN: Duration = Duration::from_secs(30);

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Looks until there is something to see; `what` did not happen when there never is.
pub(crate) async fn until<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    until_within(WITHIN, what, look).await
}

/// The same, for as long as `bound`.
pub(crate) async fn until_within<T>(
    bound: Duration,
    what: &str,
    mut look: impl AsyncFnMut() -> Option<T>,
) -> T {
    let end = Instant::now() + bound;
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(Instant::now() < end, "within {bound:?} not: {what}");
        sleep(LOOK_EVERY).await;
    }
}

/// Waits for what happens by itself.
pub(crate) async fn within<T>(what: &str, event: impl Future<Output = T>) -> T {
    match tokio::time::timeout(WITHIN, event).await {
        Ok(happened) => happened,
        Err(_) => panic!("within {WITHIN:?} not: {what}"),
    }
}

/// How often something is done: as a variable says, for a longer run than that of every day.
pub(crate) fn as_often_as(variable: &str, else_this: u64) -> u64 {
    let told = env::var_os(variable).and_then(|it| it.into_string().ok());
    told.map_or(else_this, |it| {
        it.parse()
            .unwrap_or_else(|_| panic!("{variable} is a number, not {it}"))
    })
}
