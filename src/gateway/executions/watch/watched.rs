//! One execution as this gateway knows it, for whoever watches it here.

use std::{
    fmt, mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::{
    sync::{Notify, futures::Notified},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    super::{
        Unfound,
        state::{Gone, State},
    },
    Inner,
};
use crate::{
    broker::ResultMessage,
    clock::WallTime,
    contract::{Event, Header, InvocationResult},
    store::{Record, RecordState, executions::Execution},
};

/// An execution is first looked at again after so long ...
const LOOK_AGAIN_MIN: Duration = Duration::from_millis(500);

/// ... and the longer it lasts the more seldom, up to this.
const LOOK_AGAIN_MAX: Duration = Duration::from_secs(5);

/// Events of one execution that are remembered; what happens beyond that is not shown.
const EVENTS_MAX: usize = 1_024;

/// An execution that somebody watches. It is forgotten here when the last of them goes.
pub struct Watched {
    /// The execution.
    pub execution: Execution,
    known: Mutex<Known>,
    changed: Notify,
    hub: Weak<Inner>,
    stop: CancellationToken,
    place: String,
}

struct Known {
    state: Result<State, Gone>,
    /// Each once, although each is told twice: as it comes, and when it is read back.
    events: Vec<Event>,
    /// Whether anything was read of it yet.
    looked_at: bool,
    /// Whether something was missed, so that the record alone does not do.
    look_deep: bool,
    since: Instant,
    look_at: Instant,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watched").field(&self.place).finish()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(hub) = self.hub.upgrade() {
            let mut watched = hub.watched();
            // Somebody may have begun anew under the same name.
            if watched
                .get(&self.place)
                .is_some_and(|it| it.strong_count() == 0)
            {
                watched.remove(&self.place);
            }
        }
    }
}

impl Watched {
    /// Nothing is known of it yet; its result will stand at `place`.
    pub(super) fn new(execution: &Execution, place: String, hub: &Arc<Inner>) -> Self {
        let now = Instant::now();
        Self {
            execution: execution.clone(),
            known: Mutex::new(Known {
                state: Ok(State::ACCEPTED),
                events: Vec::new(),
                looked_at: false,
                look_deep: false,
                since: now,
                look_at: now + LOOK_AGAIN_MIN,
            }),
            changed: Notify::new(),
            hub: Arc::downgrade(hub),
            stop: hub.stop.clone(),
            place,
        }
    }

    /// Whether nothing was read of it yet.
    pub(super) fn is_new(&self) -> bool {
        !self.known().looked_at
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How it stands, as far as is known here.
    pub fn state(&self) -> Result<State, Gone> {
        self.known().state.clone()
    }

    /// The event of this number of those that were told of it, in the order in which they were
    /// heard.
    pub fn event(&self, number: usize) -> Option<Event> {
        self.known().events.get(number).cloned()
    }

    /// Waits until something is told of it that was not before this was first polled.
    pub fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// How it ended, or how it stands at `until` if it has not.
    pub async fn end(&self, until: Instant) -> Result<State, Gone> {
        self.until(until, |state| state.status().is_final()).await
    }

    /// How it stands once `enough` is true of that, or at `until`. A gateway that stops keeps
    /// nobody waiting: whoever does not learn the id from it could not ask another one.
    pub async fn until(
        &self,
        until: Instant,
        enough: impl Fn(&State) -> bool,
    ) -> Result<State, Gone> {
        loop {
            let changed = self.changed();
            let state = self.state()?;
            if enough(&state) {
                return Ok(state);
            }
            tokio::select! {
                () = changed => {}
                () = sleep_until(until) => return self.state(),
                () = self.stop.cancelled() => return self.state(),
            }
        }
    }

    /// Asks the record, and the stream where the record does not say.
    pub(super) async fn look(&self, hub: &Inner) -> Result<(), Unfound> {
        let status = hub.fleet.standing(&self.execution).await?;
        let state = State::of(&self.execution, status, hub.fleet.now(), hub.kept);
        let is_gone = state.is_err();
        self.turn(state);
        if is_gone { Err(Unfound::Gone) } else { Ok(()) }
    }

    /// A result that names another request is none of ours; ours may stand aside then.
    pub(super) fn answered(&self, message: &ResultMessage, now: WallTime) {
        let named = message.headers.get(Header::Fingerprint);
        let is_ours = named.is_none_or(|it| it.parse() == Ok(self.execution.fingerprint));
        let read: Option<InvocationResult> = serde_json::from_slice(&message.body).ok();
        match read.filter(|_| is_ours) {
            Some(result) => {
                let state = self.state().map(|it| it.ended(result, now));
                self.turn(state);
            }
            None => self.look_deep_soon(),
        }
    }

    pub(super) fn happened(&self, event: Event) {
        let mut known = self.known();
        if known.events.len() < EVENTS_MAX && !known.events.contains(&event) {
            known.events.push(event);
            drop(known);
            self.changed.notify_waiters();
        }
    }

    pub(super) fn turn(&self, state: Result<State, Gone>) {
        let mut known = self.known();
        known.looked_at = true;
        let is_news = match (&known.state, &state) {
            (Ok(before), Ok(after)) => before.gives_way_to(after),
            (Ok(before), Err(Gone)) => !before.status().is_final(),
            (Err(Gone), _) => false,
        };
        if is_news {
            known.state = state;
            drop(known);
            self.changed.notify_waiters();
        }
    }

    pub(super) fn look_deep_soon(&self) {
        let mut known = self.known();
        known.look_deep = true;
        known.look_at = Instant::now();
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        let known = self.known();
        let goes_on = known.state.as_ref().is_ok_and(|it| !it.status().is_final());
        goes_on && known.look_at <= now
    }

    /// The next look, the later the longer it has lasted.
    pub(super) fn rest(&self) {
        let mut known = self.known();
        let lasted = known.since.elapsed() / 8;
        known.look_at = Instant::now() + lasted.clamp(LOOK_AGAIN_MIN, LOOK_AGAIN_MAX);
    }

    /// Whether its record is not all that has to be asked.
    pub(super) fn is_to_be_looked_at(&self, record: Option<&Record>, now: WallTime) -> bool {
        let is_done = record.is_some_and(|it| matches!(it.state, RecordState::Done { .. }));
        let is_late = self.execution.deadline.passed(now);
        let asked = mem::take(&mut self.known().look_deep);
        is_done || is_late || asked
    }
}
