//! Takes the history down as it happens.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::history::{At, Entry, Event};
use crate::clock::WallTime;

/// Where everybody reports what happened. A clone writes into the same history.
#[derive(Clone, Debug)]
pub(super) struct Recorder {
    began: Instant,
    /// The same moment by the clock on the wall, for what is told by logs and by the store.
    began_at: WallTime,
    entries: Arc<Mutex<Vec<Entry>>>,
}

impl Recorder {
    /// An empty history that begins now; `now` is what the clock on the wall says.
    pub(super) fn new(now: WallTime) -> Self {
        Self {
            began: Instant::now(),
            began_at: now,
            entries: Arc::default(),
        }
    }

    /// This moment.
    pub(super) fn now(&self) -> At {
        At::of(self.began.elapsed())
    }

    /// A moment by the clock on the wall.
    pub(super) fn at_wall(&self, time: WallTime) -> At {
        At::of(time.since(self.began_at))
    }

    /// It happens now.
    pub(super) fn note(&self, event: Event) {
        self.note_at(self.now(), event);
    }

    /// It happened then.
    pub(super) fn note_at(&self, at: At, event: Event) {
        self.lock().push(Entry { at, event });
    }

    /// Everything so far, in order of time; what happened at the same moment as it was told.
    pub(super) fn history(&self) -> Vec<Entry> {
        let mut entries = self.lock().clone();
        entries.sort_by_key(|it| it.at);
        entries
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
