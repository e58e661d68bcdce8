//! Pull: deliveries of one target, as many as it has free slots.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::lanes::{View, share};
use crate::{
    broker::{Broker, Delivery, Pull, WalkBroker},
    pipeline::{Pipeline, Served, SessionWatch, Settled, Slots},
    store::WalkStore,
};

/// Demand for a few freed slots waits this long for more to come free, so that a busy worker asks
/// for many at once.
const GATHER: Duration = Duration::from_millis(1);

/// Fewer freed slots than this share of all wait for more.
const GATHER_SHARE: usize = 8;

/// A worker without a free slot keeps its standing demand this long: under load a slot comes free
/// sooner, and withdrawing costs the broker more than taking back one delivery.
const FULL_FOR: Duration = Duration::from_millis(50);

/// Results on their way beyond the slots: a slow broker or store stops the pulling here.
const TAIL_MAX: usize = 64;

/// How long a delivery may be on its way after the demand for it was withdrawn.
const LATE_FOR: Duration = Duration::from_millis(200);

/// The pulling side of one target.
#[derive(Debug)]
pub(super) struct Puller<B: Broker, C> {
    pub(super) pipeline: Pipeline<B, C>,
    pub(super) served: Arc<Served>,
    pub(super) slots: Slots,
    pub(super) lanes: [B::Lane; 3],
    pub(super) sessions: SessionWatch,
    pub(super) walks: TaskTracker,
    pub(super) stop: CancellationToken,
}

impl<B: WalkBroker, C: WalkStore> Puller<B, C> {
    /// Pulls until it is told to stop; what was asked for is then withdrawn. Walks go on.
    pub(super) async fn run(mut self) {
        let own = TaskTracker::new();
        let mut turn = 0;
        let mut shared_out = Instant::now();
        let stop = self.stop.clone();
        loop {
            if self.sessions.current().is_none() {
                self.withdraw();
                tokio::select! {
                    () = stop.cancelled() => break,
                    _ = self.sessions.opened() => {}
                }
            }
            let wake = self.share_out(&own, &mut turn, &mut shared_out);
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                delivery = next_of(&mut self.lanes) => self.dispatch(delivery, &own).await,
                () = self.slots.freed() => {}
                () = maybe_until(wake) => {}
            }
        }
        self.withdraw();
        self.take_back_what_still_comes().await;
    }

    /// Asks the lanes for what the free slots can take, now or, for the sake of asking for many at
    /// once, at the moment that is returned.
    fn share_out(
        &mut self,
        own: &TaskTracker,
        turn: &mut u64,
        shared_out: &mut Instant,
    ) -> Option<Instant> {
        let free = self.free(own);
        self.served.metrics.set_slots_free(self.slots.free());
        let now = Instant::now();
        if free == 0 {
            let standing = self.lanes.iter().any(|lane| lane.demanded() > 0);
            let until = *shared_out + FULL_FOR;
            if standing && now < until {
                return Some(until);
            }
        } else {
            let demanded: usize = self.lanes.iter().map(Pull::demanded).sum();
            let few = free.saturating_sub(demanded) < self.slots.all() / GATHER_SHARE;
            let until = *shared_out + GATHER;
            if few && demanded < free && now < until {
                return Some(until);
            }
        }
        let views = [0, 1, 2].map(|it| self.view(it));
        for (lane, order) in self.lanes.iter_mut().zip(share(free, views, turn)) {
            if order.withdraw {
                lane.withdraw();
            }
            if order.demand > 0 {
                lane.demand(order.demand);
            }
        }
        *shared_out = now;
        None
    }

    fn view(&self, lane: usize) -> View {
        self.lanes
            .get(lane)
            .map_or_else(View::default, |lane| View {
                demanded: lane.demanded(),
                backlog: lane.backlog(),
            })
    }

    fn free(&self, own: &TaskTracker) -> usize {
        let walking_max = 2 * self.slots.all() + TAIL_MAX;
        self.slots.free().min(walking_max.saturating_sub(own.len()))
    }

    async fn dispatch(&mut self, delivery: Delivery, own: &TaskTracker) {
        let Some(slot) = self.slots.take() else {
            self.pipeline.give_back(&delivery).await;
            return;
        };
        let pipeline = self.pipeline.clone();
        let (served, sessions) = (Arc::clone(&self.served), self.sessions.clone());
        let slots = self.slots.clone();
        let counted = own.token();
        self.walks.spawn(async move {
            let walk = Box::pin(pipeline.process(delivery, served, slot));
            let settled = AssertUnwindSafe(walk).catch_unwind().await;
            drop(counted);
            slots.nudge();
            match settled {
                Ok(Settled::Acked { tidy: Some(key) }) => pipeline.tidy(&key).await,
                Ok(_) => {}
                Err(_) => fence_after_panic(&sessions),
            }
        });
    }

    fn withdraw(&mut self) {
        for lane in &mut self.lanes {
            lane.withdraw();
        }
    }

    /// Deliveries that were on their way when the demand was withdrawn.
    async fn take_back_what_still_comes(&mut self) {
        while let Ok(delivery) = timeout(LATE_FOR, next_of(&mut self.lanes)).await {
            self.pipeline.give_back(&delivery).await;
        }
    }
}

/// The next delivery of any lane, the most urgent first.
async fn next_of<L: Pull>(lanes: &mut [L; 3]) -> Delivery {
    let [high, normal, low] = lanes;
    tokio::select! {
        biased;
        delivery = high.next() => delivery,
        delivery = normal.next() => delivery,
        delivery = low.next() => delivery,
    }
}

/// A claim may be left without anyone who works on it: all of them are voided.
fn fence_after_panic(sessions: &SessionWatch) {
    tracing::error!("the walk panicked: this is a bug of the fleet; fencing the session");
    if let Some(session) = sessions.current() {
        session.fence();
    }
}

async fn maybe_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
