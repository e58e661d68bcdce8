//! After the storm: whether those who wait hold anything.
//!
//! More requests than a target has run slots wait at once, each for one that never ends; meanwhile
//! the same target serves a chain that needs it on every level. Then all of them are cancelled.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

use super::{
    asks::{Ask, CLERK, RELAY, TOOL, Twist, ask},
    cast::RELAY_SLOTS,
    desk::Desk,
    errand::{Errand, Turn, Waits},
    fleet::Fleet,
    history::Event,
    load,
    prompt::Takes,
};
use crate::store::{RecordState, Records as _, RequestKey};

/// Beyond the slots that there are.
const MORE: usize = 3;
/// How many relays the chain has.
const RELAYS: usize = 5;
/// How long those who wait may take until all of them do, and the chain until it has its answer.
const WITHIN: Duration = Duration::from_secs(60);
/// Longer than all of it.
const TIMEOUT: Duration = Duration::from_secs(300);
/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Asks, looks, and cancels.
pub(super) async fn run(desk: &Arc<Desk>, fleet: &Fleet) {
    let most = fleet.places() * RELAY_SLOTS;
    let waiters: Vec<_> = (0..most + MORE).map(waiter).collect();
    join_all(waiters.iter().map(|it| load::ask_for(desk, it))).await;
    let end = Instant::now() + WITHIN;
    let mut waiting = waiting(desk, &waiters).await;
    while waiting < waiters.len() && Instant::now() < end {
        sleep(LOOK_EVERY).await;
        waiting = self::waiting(desk, &waiters).await;
    }
    // A message that comes again is looked at under a slot, for a moment.
    let (mut slots, mut taken) = slots(fleet).await;
    while taken > 0 && Instant::now() < end {
        sleep(LOOK_EVERY).await;
        (slots, taken) = self::slots(fleet).await;
    }
    desk.recorder.note(Event::WaitedTogether {
        asked: waiters.len(),
        waiting,
        slots,
        taken,
    });
    serve_chain(desk).await;
    join_all(waiters.iter().map(|it| load::cancel(desk, it))).await;
}

/// How many slots the relay has in all workers, and how many of them are taken.
async fn slots(fleet: &Fleet) -> (usize, usize) {
    let free = fleet.free_slots(RELAY).await;
    let slots = free.len() * RELAY_SLOTS;
    (slots, slots.saturating_sub(free.iter().sum()))
}

fn waiter(number: usize) -> Ask {
    let children = vec![Errand::plain(CLERK, Takes::Ages)];
    let errand = asks_once(children);
    ask(&format!("waiter-{number}"), errand, TIMEOUT, Twist::None)
}

fn asks_once(children: Vec<Errand>) -> Errand {
    let join = Waits::All;
    Errand::relayed(vec![Turn { children, join }])
}

async fn waiting(desk: &Desk, asks: &[Ask]) -> usize {
    let keys = asks.iter().map(|ask| RequestKey {
        target: ask.target().clone(),
        request: ask.request.clone(),
    });
    let records = desk.store.read(&keys.collect::<Vec<_>>()).await;
    let records = records.unwrap_or_default().into_iter().flatten();
    let waits = records.filter(|it| matches!(it.state, RecordState::Waiting { .. }));
    waits.count()
}

/// Asks relays down to a program, and waits for the answer of the first.
async fn serve_chain(desk: &Desk) {
    let last = Errand::plain(TOOL, Takes::Moments);
    let errand = (0..RELAYS).fold(last, |child, _| asks_once(vec![child]));
    // While the others wait: it would end by its time-out before they do.
    let chain = ask("chain", errand, WITHIN, Twist::None);
    load::ask_for(desk, &chain).await;
    let place = desk.subjects.result(&chain.correlation, &chain.request);
    let end = Instant::now() + WITHIN;
    while Instant::now() < end {
        if let Ok(Some(_)) = desk.nats.read_result(&place).await {
            return;
        }
        sleep(LOOK_EVERY).await;
    }
}
