//! When to look at files again.
//!
//! No event need be understood and none can be missed for good: a notice of the operating system,
//! or the passing of time, only says when to look. Folders are watched, not files, since editors
//! replace a file by renaming another.
//! Never: a look at a file.

use std::{path::Path, sync::Arc, time::Duration};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::{
    sync::Notify,
    time::{Instant, timeout, timeout_at},
};

/// A file counts as written when nothing has happened for this long,
const SETTLED_AFTER: Duration = Duration::from_millis(100);
/// or when changes have gone on for this long.
const SETTLED_AT_LATEST: Duration = Duration::from_secs(1);
/// How often to look where the operating system tells of changes, in case it lost one.
pub(super) const LOOK_WATCHED: Duration = Duration::from_secs(30);
/// How often to look where it does not.
pub(super) const LOOK_UNWATCHED: Duration = Duration::from_secs(2);

/// Tells when something in a folder may have changed, for as long as it lives.
#[derive(Debug)]
pub struct Changes {
    nudge: Arc<Notify>,
    look_every: Duration,
    _watcher: Option<RecommendedWatcher>,
}

impl Changes {
    /// Those of the files in `folder` itself.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self::within(folder, RecursiveMode::NonRecursive)
    }

    /// Those of all files under `folder`.
    #[must_use]
    pub fn in_tree(folder: &Path) -> Self {
        Self::within(folder, RecursiveMode::Recursive)
    }

    fn within(folder: &Path, depth: RecursiveMode) -> Self {
        let nudge = Arc::new(Notify::new());
        let (look_every, watcher) = match watch(folder, depth, &nudge) {
            Ok(watcher) => (LOOK_WATCHED, Some(watcher)),
            Err(error) => {
                tracing::warn!(
                    folder = %folder.display(), %error, every = ?LOOK_UNWATCHED,
                    "cannot watch for changed files, looking from time to time instead"
                );
                (LOOK_UNWATCHED, None)
            }
        };
        Self {
            nudge,
            look_every,
            _watcher: watcher,
        }
    }

    /// Waits until it is time to look: after changes, once they pause, or when time has passed.
    pub async fn next(&self) {
        if timeout(self.look_every, self.nudge.notified())
            .await
            .is_ok()
        {
            settle(&self.nudge).await;
        }
    }
}

/// Nudges whenever something in `folder` changes, for as long as the watcher lives.
fn watch(
    folder: &Path,
    depth: RecursiveMode,
    nudge: &Arc<Notify>,
) -> notify::Result<RecommendedWatcher> {
    let nudge = Arc::clone(nudge);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Our own look opens the files; whatever is written is told as a modification too. An
        // error means that notices may have been lost, so it is a reason to look.
        let only_read = event.is_ok_and(|it| matches!(it.kind, EventKind::Access(_)));
        if !only_read {
            nudge.notify_one();
        }
    })?;
    watcher.watch(folder, depth)?;
    Ok(watcher)
}

/// Waits until changes pause: a look amid a save would find half a file.
async fn settle(nudge: &Notify) {
    let latest = Instant::now() + SETTLED_AT_LATEST;
    loop {
        let quiet = (Instant::now() + SETTLED_AFTER).min(latest);
        if timeout_at(quiet, nudge.notified()).await.is_err() || Instant::now() >= latest {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn changes_that_never_pause_are_looked_at_all_the_same() {
        let nudge = Arc::new(Notify::new());
        let restless = Arc::clone(&nudge);
        let task = tokio::spawn(async move {
            loop {
                restless.notify_one();
                tokio::time::sleep(SETTLED_AFTER / 2).await;
            }
        });
        let began = Instant::now();
        settle(&nudge).await;
        assert_eq!(began.elapsed(), SETTLED_AT_LATEST);
        task.abort();
    }
}
