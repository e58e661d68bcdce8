//! A worker from its first session to its last settlement.

use std::{sync::Arc, time::Duration};

use tokio::{sync::mpsc, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{cancels, progress, pull::Puller, supervisor::Leading};
use crate::{
    broker::{BrokerFault, WalkBroker},
    contract::Lane,
    pipeline::{InFlight, Pipeline, Served, SessionWatch, Slots},
    store::{RequestKey, WalkStore},
    telemetry::health::Setter,
};

/// After it was told to hand over, a walk has this long to give its claim back.
const HAND_OVER_WITHIN: Duration = Duration::from_secs(5);

/// The times of a worker.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// How often the broker is told of a delivery that is being walked with; a third of the ack
    /// wait.
    pub progress_every: Duration,
    /// How long a drain lets running handlers finish before it hands them over.
    pub drain_timeout: Duration,
}

/// How a drain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// Everything that ran has its result.
    Finished,
    /// This many requests were still running and went to other workers.
    HandedOver(usize),
}

/// Everything of a worker but its connections' making.
#[derive(Debug)]
pub struct Worker<B, C> {
    /// The walk.
    pub pipeline: Pipeline<B, C>,
    /// The broker, shared with the walk.
    pub broker: B,
    /// What is served, each with its slots.
    pub served: Vec<(Arc<Served>, Slots)>,
    /// The deliveries that are being walked with.
    pub in_flight: InFlight,
    /// The session of this moment.
    pub sessions: SessionWatch,
    /// Requests to cancel, as renewals of the session bring them.
    pub cancelled: mpsc::UnboundedReceiver<RequestKey>,
    /// Whether it leads the fleet.
    pub leading: Leading,
    /// Its times.
    pub timing: Timing,
    /// Says that everything that is served is pulled: from then on callers find each target.
    pub pulling: Setter,
    /// Ends the pulling.
    pub drain: CancellationToken,
    /// Ends the waiting for what still runs.
    pub hand_over: CancellationToken,
}

impl<B: WalkBroker + Clone, C: WalkStore> Worker<B, C> {
    /// Works until `drain` ends, then until everything that runs has ended or was handed over.
    ///
    /// # Errors
    /// A lane cannot be opened.
    pub async fn run(self) -> Result<Drained, BrokerFault> {
        let walks = TaskTracker::new();
        let pullers = TaskTracker::new();
        for (served, slots) in &self.served {
            let puller = self.puller(served, slots, &walks).await?;
            pullers.spawn(puller.run());
        }
        pullers.close();
        self.pulling.ok();
        let (side_work, pipeline) = (self.broker.clone(), self.pipeline.clone());
        let (in_flight, sessions) = (self.in_flight.clone(), self.sessions.clone());
        let every = self.timing.progress_every;
        let drain = drained(
            pullers,
            walks,
            self.drain,
            self.hand_over,
            self.timing.drain_timeout,
        );
        let never = async {
            tokio::join!(
                progress::report(&side_work, &in_flight, &sessions, every),
                cancels::deliver(
                    &pipeline,
                    &side_work,
                    &in_flight,
                    &self.leading,
                    self.cancelled,
                ),
            )
        };
        tokio::select! {
            drained = drain => Ok(drained),
            _ = never => Ok(Drained::Finished),
        }
    }

    async fn puller(
        &self,
        served: &Arc<Served>,
        slots: &Slots,
        walks: &TaskTracker,
    ) -> Result<Puller<B, C>, BrokerFault> {
        let lane = |lane| self.broker.lane(&served.name, lane);
        Ok(Puller {
            pipeline: self.pipeline.clone(),
            served: Arc::clone(served),
            slots: slots.clone(),
            lanes: [
                lane(Lane::High).await?,
                lane(Lane::Normal).await?,
                lane(Lane::Low).await?,
            ],
            sessions: self.sessions.clone(),
            walks: walks.clone(),
            stop: self.drain.clone(),
        })
    }
}

/// Stop pulling, give back what has not started, finish or hand over what runs.
async fn drained(
    pullers: TaskTracker,
    walks: TaskTracker,
    drain: CancellationToken,
    hand_over: CancellationToken,
    patience: Duration,
) -> Drained {
    drain.cancelled().await;
    pullers.wait().await;
    walks.close();
    tokio::select! {
        () = walks.wait() => return Drained::Finished,
        () = hand_over.cancelled() => {}
        () = tokio::time::sleep(patience) => {}
    }
    let running = walks.len();
    hand_over.cancel();
    if timeout(HAND_OVER_WITHIN, walks.wait()).await.is_err() {
        tracing::warn!(
            left = walks.len(),
            "some claims could not be given back in time; they expire"
        );
    }
    Drained::HandedOver(running)
}
