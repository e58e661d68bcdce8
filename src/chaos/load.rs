//! Load: publishes what is drawn, at a steady rate, whatever the fleet is going through.
//!
//! A publisher goes on with the same message until the broker has confirmed it: only then is the
//! request accepted, and promised a result.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{
    sync::Semaphore,
    time::{Instant, MissedTickBehavior, interval, sleep},
};
use tokio_util::task::TaskTracker;

use super::{
    asks::{Ask, Twist},
    desk::Desk,
    draw::Draw,
    history::{At, CancelTold, Event},
};
use crate::{
    broker::{Asking as _, Headers},
    store::{CancelAnswer, Records as _, RequestKey},
};

/// Between two tries to publish or to cancel.
const AGAIN: Duration = Duration::from_millis(200);
/// How many publishers may wait for the broker; beyond that none is started.
const PUBLISHERS: usize = 512;
/// How long a request is tried to be published: longer than any server is away.
const PUBLISH_WITHIN: Duration = Duration::from_secs(120);
/// How long a cancel is tried. One that never took hold is no cancel.
const CANCEL_WITHIN: Duration = Duration::from_secs(20);

/// Publishes for `duration`, then waits until every publisher has its confirmation.
pub(super) async fn run(desk: &Arc<Desk>, mut asks: Draw, rate: f64, duration: Duration) {
    let publishers = TaskTracker::new();
    let room = Arc::new(Semaphore::new(PUBLISHERS));
    let end = Instant::now() + duration;
    let mut pace = interval(Duration::from_secs(1).div_f64(rate));
    // A machine that was busy does not get all of it at once.
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while pace.tick().await < end {
        let Ok(room) = Arc::clone(&room).acquire_owned().await else {
            break;
        };
        let (desk, ask) = (Arc::clone(desk), asks.draw());
        publishers.spawn(async move {
            ask_for(&desk, &ask).await;
            drop(room);
        });
    }
    publishers.close();
    publishers.wait().await;
}

/// Asks, and does what is odd about it.
pub(super) async fn ask_for(desk: &Desk, ask: &Ask) {
    let sent = desk.recorder.now();
    let (headers, body) = ask.message(desk.clock.now());
    publish(desk, ask, sent, &headers, body.into()).await;
    match ask.twist {
        Twist::Cancelled(after) => {
            sleep(after).await;
            cancel(desk, ask).await;
        }
        Twist::Twice(after) | Twist::Contradicted(after) => {
            sleep(after).await;
            let again = ask.again().into();
            publish(desk, ask, sent, &Headers::new(), again).await;
        }
        Twist::Forged(after) => {
            sleep(after).await;
            forge(desk, ask).await;
        }
        Twist::None | Twist::Forbidden | Twist::Broken | Twist::Expired => {}
    }
}

/// Publishes until it is accepted. Whoever gives up was promised nothing.
async fn publish(desk: &Desk, ask: &Ask, sent: At, headers: &Headers, body: Bytes) {
    let subject = desk.subjects.invoke(ask.target(), ask.lane);
    let end = Instant::now() + PUBLISH_WITHIN;
    while Instant::now() < end {
        let published = desk.nats.publish_request(&subject, headers, body.clone());
        if let Ok(ack) = published.await {
            desk.accepted(ask, sent, ack.sequence);
            return;
        }
        sleep(AGAIN).await;
    }
}

/// One that was not stored forged nothing.
async fn forge(desk: &Desk, ask: &Ask) {
    let Some(forged) = ask.forged_child() else {
        return;
    };
    let subject = desk.subjects.invoke(&forged.target, ask.lane);
    let request = forged.request;
    // Noted before it is sent: it may be stored although nobody says so.
    desk.recorder.note(Event::Forged { request });
    let sent = desk
        .nats
        .publish_request(&subject, &forged.headers, forged.body.into());
    drop(sent.await);
}

/// Cancels until the store has said something.
pub(super) async fn cancel(desk: &Desk, ask: &Ask) {
    let key = RequestKey {
        target: ask.target().clone(),
        request: ask.request.clone(),
    };
    let end = Instant::now() + CANCEL_WITHIN;
    while Instant::now() < end {
        let Ok(answer) = desk.store.cancel(&key).await else {
            sleep(AGAIN).await;
            continue;
        };
        let told = match answer {
            CancelAnswer::Flagged | CancelAnswer::Owned(_) | CancelAnswer::Waiting(_) => {
                CancelTold::Flagged
            }
            CancelAnswer::AlreadyDone => CancelTold::AlreadyDone,
        };
        let request = ask.request.clone();
        desk.recorder.note(Event::CancelAsked { request, told });
        // An announcement may get lost; the record is what counts.
        drop(desk.nats.announce_cancel(&key).await);
        return;
    }
}
