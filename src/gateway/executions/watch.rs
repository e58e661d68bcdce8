//! Executions as they go on: whoever watches one is told of what happens to it.
//!
//! Results and events are heard over two subscriptions, however many are watched; records, which
//! nobody announces, are read in batches. What is heard is a reason to look; a reader that missed
//! something finds it in the record and in the streams.
//! Never: a promise that every state is seen; the last one always is.

use std::{
    collections::HashMap,
    fmt, mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use tokio::{
    sync::{Notify, futures::Notified},
    time::{Instant, MissedTickBehavior, interval, sleep, sleep_until},
};

use super::{
    Unfound,
    state::{Gone, State},
};
use crate::{
    broker::ResultMessage,
    client::{Arrival, ClientFault},
    clock::WallTime,
    contract::{Event, Header, InvocationResult},
    gateway::fleet::{Fleet, Subscribed},
    store::{Record, RecordState, executions::Execution},
};

/// How often it is seen who is due to be looked at.
const TICK: Duration = Duration::from_millis(250);

/// An execution is first looked at again after so long ...
const LOOK_AGAIN_MIN: Duration = Duration::from_millis(500);

/// ... and the longer it lasts the more seldom, up to this.
const LOOK_AGAIN_MAX: Duration = Duration::from_secs(5);

/// Between two attempts to subscribe.
const SUBSCRIBE_AGAIN: Duration = Duration::from_secs(1);

/// Events of one execution that are remembered; the oldest of more are not shown.
const EVENTS_MAX: usize = 1_024;

/// Executions that are looked at in one call ...
const LOOKED_AT_ONCE: usize = 256;

/// ... and that are looked into at a time.
const LOOKED_INTO_AT_ONCE: usize = 32;

/// All executions that somebody watches here.
#[derive(Clone)]
pub struct Hub(Arc<Inner>);

struct Inner {
    fleet: Arc<dyn Fleet>,
    kept: Duration,
    /// By the subject of the result.
    watched: Mutex<HashMap<String, Weak<Watched>>>,
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hub")
    }
}

/// What is done with what is heard.
type Told = fn(&Inner, &ResultMessage);

/// An execution that somebody watches. It is forgotten here when the last of them goes.
pub struct Watched {
    /// The execution.
    pub execution: Execution,
    known: Mutex<Known>,
    changed: Notify,
    hub: Weak<Inner>,
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

impl Hub {
    /// A hub on this fleet, which keeps results for so long. Nothing is heard until it is
    /// [run](Hub::run).
    pub fn new(fleet: Arc<dyn Fleet>, kept: Duration) -> Self {
        Self(Arc::new(Inner {
            fleet,
            kept,
            watched: Mutex::default(),
        }))
    }

    /// Hears and looks for as long as it is polled.
    pub async fn run(self) {
        let subjects = self.0.fleet.subjects();
        let (results, events) = (subjects.results_all(), subjects.events_all());
        tokio::join!(
            self.hear(&results, Inner::result),
            self.hear(&events, Inner::event),
            self.look_around(),
        );
    }

    /// Follows an execution from now on; what is known of it is read before this returns.
    pub async fn watch(&self, execution: &Execution) -> Result<Arc<Watched>, Unfound> {
        let watched = self.entry(execution);
        if !watched.known().looked_at {
            let events = self.0.fleet.events(execution).await?;
            events.into_iter().for_each(|event| watched.happened(event));
            watched.look(&self.0).await?;
        }
        Ok(watched)
    }

    fn entry(&self, execution: &Execution) -> Arc<Watched> {
        let subjects = self.0.fleet.subjects();
        let place = subjects.result(&execution.correlation, &execution.key.request);
        let mut watched = self.0.watched();
        if let Some(known) = watched.get(&place).and_then(Weak::upgrade) {
            return known;
        }
        let now = Instant::now();
        let fresh = Arc::new(Watched {
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
            hub: Arc::downgrade(&self.0),
            place: place.clone(),
        });
        watched.insert(place, Arc::downgrade(&fresh));
        fresh
    }

    /// Hears what is published under `filter`, for ever.
    async fn hear(&self, filter: &str, told: Told) {
        loop {
            match self.0.fleet.hear(filter).await {
                Ok(mut heard) => self.relay(&mut *heard, told).await,
                Err(fault) => tracing::warn!(%fault, "gateway_cannot_subscribe"),
            }
            sleep(SUBSCRIBE_AGAIN).await;
        }
    }

    async fn relay(&self, heard: &mut dyn Subscribed, told: Told) {
        // What was published before the subscription stood has been missed.
        self.0.look_at_all();
        loop {
            match heard.next().await {
                Arrival::Result(message) => told(&self.0, &message),
                Arrival::Reconnected => self.0.look_at_all(),
            }
        }
    }

    async fn look_around(&self) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let due = self.0.due();
            for some in due.chunks(LOOKED_AT_ONCE) {
                if let Err(fault) = self.0.look_at(some).await {
                    tracing::debug!(%fault, "watched executions could not be looked at");
                }
            }
        }
    }
}

impl Inner {
    fn watched(&self) -> MutexGuard<'_, HashMap<String, Weak<Watched>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at(&self, place: &str) -> Option<Arc<Watched>> {
        self.watched().get(place).and_then(Weak::upgrade)
    }

    /// A result was published, in the place of an execution or aside from it.
    fn result(&self, message: &ResultMessage) {
        let place = &message.subject;
        let aside = || self.at(place.rsplit_once('.')?.0);
        if let Some(watched) = self.at(place).or_else(aside) {
            watched.answered(message, self.fleet.now());
        }
    }

    fn event(&self, message: &ResultMessage) {
        let Ok(event) = serde_json::from_slice::<Event>(&message.body) else {
            return;
        };
        let subjects = self.fleet.subjects();
        let place = subjects.result(&event.correlation_id, &event.request_id);
        if let Some(watched) = self.at(&place) {
            watched.happened(event);
        }
    }

    fn look_at_all(&self) {
        let all: Vec<_> = self.watched().values().filter_map(Weak::upgrade).collect();
        all.iter().for_each(|watched| watched.look_deep_soon());
    }

    fn due(&self) -> Vec<Arc<Watched>> {
        let now = Instant::now();
        let all = self.watched();
        let alive = all.values().filter_map(Weak::upgrade);
        alive.filter(|it| it.is_due(now)).collect()
    }

    /// Looks at the records of these; further where a record says that there is more to be known.
    async fn look_at(&self, some: &[Arc<Watched>]) -> Result<(), ClientFault> {
        let keys: Vec<_> = some.iter().map(|it| it.execution.key.clone()).collect();
        let records = self.fleet.records(&keys).await?;
        let now = self.fleet.now();
        let mut deep = Vec::new();
        for (watched, record) in some.iter().zip(records) {
            watched.rest();
            if watched.is_to_be_looked_at(record.as_ref(), now) {
                deep.push(Arc::clone(watched));
            } else if let Some(state) = record.as_ref().and_then(State::under_way) {
                watched.turn(Ok(state));
            }
        }
        stream::iter(deep)
            .map(|watched| async move {
                // A result that is kept no longer is news too.
                if let Err(Unfound::Fault(fault)) = watched.look(self).await {
                    tracing::debug!(%fault, "a watched execution could not be looked at");
                    watched.look_deep_soon();
                }
            })
            .buffer_unordered(LOOKED_INTO_AT_ONCE)
            .collect::<()>()
            .await;
        Ok(())
    }
}

impl Watched {
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
        loop {
            let changed = self.changed();
            let state = self.state()?;
            if state.status().is_final() {
                return Ok(state);
            }
            tokio::select! {
                () = changed => {}
                () = sleep_until(until) => return self.state(),
            }
        }
    }

    /// Asks the record, and the stream where the record does not say.
    async fn look(&self, hub: &Inner) -> Result<(), Unfound> {
        let status = hub.fleet.standing(&self.execution).await?;
        let state = State::of(&self.execution, status, hub.fleet.now(), hub.kept);
        let is_gone = state.is_err();
        self.turn(state);
        if is_gone { Err(Unfound::Gone) } else { Ok(()) }
    }

    /// A result that names another request is none of ours; ours may stand aside then.
    fn answered(&self, message: &ResultMessage, now: WallTime) {
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

    fn happened(&self, event: Event) {
        let mut known = self.known();
        if known.events.len() < EVENTS_MAX && !known.events.contains(&event) {
            known.events.push(event);
            drop(known);
            self.changed.notify_waiters();
        }
    }

    fn turn(&self, state: Result<State, Gone>) {
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

    fn look_deep_soon(&self) {
        let mut known = self.known();
        known.look_deep = true;
        known.look_at = Instant::now();
    }

    fn is_due(&self, now: Instant) -> bool {
        let known = self.known();
        let goes_on = known.state.as_ref().is_ok_and(|it| !it.status().is_final());
        goes_on && known.look_at <= now
    }

    /// The next look, the later the longer it has lasted.
    fn rest(&self) {
        let mut known = self.known();
        let lasted = known.since.elapsed() / 8;
        known.look_at = Instant::now() + lasted.clamp(LOOK_AGAIN_MIN, LOOK_AGAIN_MAX);
    }

    /// Whether its record is not all that has to be asked.
    fn is_to_be_looked_at(&self, record: Option<&Record>, now: WallTime) -> bool {
        let is_done = record.is_some_and(|it| matches!(it.state, RecordState::Done { .. }));
        let is_late = self.execution.deadline.passed(now);
        let asked = mem::take(&mut self.known().look_deep);
        is_done || is_late || asked
    }
}
