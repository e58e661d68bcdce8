//! The overview as it changes, as server-sent events: a part when it is another than before, and a
//! tick with the time of day at each reading, so that silence means that something is cut.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::State,
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use futures_util::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::{
    clock::{Clock, WallTime},
    gateway::dashboard::{
        Dashboard,
        failure::Failure,
        guard::LoggedInUntil,
        live::{Latest, Overview, Part},
    },
};

/// A comment goes out so often while there is nothing else, which a cut connection shows by.
const KEPT_ALIVE_EVERY: Duration = Duration::from_secs(10);

/// One who watches.
struct Watching {
    latest: watch::Receiver<Latest>,
    shown: Option<Arc<Overview>>,
    clock: Clock,
    until: WallTime,
    _place: OwnedSemaphorePermit,
}

/// Follows the overview until the session ends.
pub(super) async fn live(
    State(dashboard): State<Arc<Dashboard>>,
    Extension(LoggedInUntil(until)): Extension<LoggedInUntil>,
) -> Response {
    let Ok(place) = Arc::clone(&dashboard.places).try_acquire_owned() else {
        return Failure::unavailable("too many pages watch already").into_response();
    };
    let watching = Watching {
        latest: dashboard.live.watch(),
        shown: None,
        clock: dashboard.onlooker.clock.clone(),
        until,
        _place: place,
    };
    let events = stream::unfold(watching, async |mut watching| {
        let events = watching.next().await?;
        Some((stream::iter(events).map(Ok::<_, Infallible>), watching))
    });
    let stop = dashboard.stop.clone();
    let events = events.flatten().take_until(stop.cancelled_owned());
    let keep_alive = KeepAlive::new().interval(KEPT_ALIVE_EVERY);
    Sse::new(events).keep_alive(keep_alive).into_response()
}

impl Watching {
    /// What changed by the next reading; none when the session is over.
    async fn next(&mut self) -> Option<Vec<Event>> {
        loop {
            self.latest.changed().await.ok()?;
            let now = self.clock.now();
            if now >= self.until {
                return None;
            }
            let latest = self.latest.borrow_and_update().clone();
            let Some((_, overview)) = latest else {
                continue;
            };
            let shown = self.shown.replace(Arc::clone(&overview));
            let mut events = changed(shown.as_deref(), &overview);
            events.push(event("tick", &json!({ "now_ms": now.unix_millis() })));
            return Some(events);
        }
    }
}

/// The parts that are others than those which are shown.
fn changed(shown: Option<&Overview>, now: &Overview) -> Vec<Event> {
    let shown = shown.map(Overview::parts);
    let is_new = |at: usize, part: &Part| {
        let before = shown.as_ref().and_then(|it| it.get(at));
        before.is_none_or(|(_, before)| *before != part)
    };
    let numbered = now.parts().into_iter().enumerate();
    let new = numbered.filter(|(at, (_, part))| is_new(*at, part));
    new.map(|(_, (name, part))| match part {
        Ok(value) => event(name, value),
        Err(why) => event(name, &Failure::unavailable(why.clone()).to_json()),
    })
    .collect()
}

fn event(name: &str, value: &Value) -> Event {
    Event::default().event(name).data(value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overview(targets: Part) -> Overview {
        Overview {
            targets,
            workers: Ok(json!([])),
            servers: Ok(json!([])),
            letters: Ok(json!(0)),
            requests: Ok(json!(0)),
        }
    }

    #[test]
    fn all_parts_are_told_at_first_and_then_those_that_change() {
        let one = overview(Ok(json!(1)));
        assert_eq!(changed(None, &one).len(), 5);
        assert!(changed(Some(&one), &one).is_empty());
        assert_eq!(changed(Some(&one), &overview(Ok(json!(2)))).len(), 1);
        assert_eq!(changed(Some(&one), &overview(Err("away".into()))).len(), 1);
    }
}
