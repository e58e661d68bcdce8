//! How long a test waits for what it expects, and how.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The longest wait for anything that must happen: generous, since it ends with the event.
pub(crate) const WITHIN: Duration = Duration::from_secs(30);

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Looks until there is something to see; `what` did not happen when there never is.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + WITHIN;
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(Instant::now() < end, "within {WITHIN:?} not: {what}");
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
