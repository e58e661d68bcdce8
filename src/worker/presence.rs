//! Presence: what a worker tells of itself to whoever looks for it.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    pipeline::{InFlight, Served, SessionWatch, Slots},
    telemetry::metrics::Metrics,
};

/// Where a worker looks when it is asked about itself.
#[derive(Debug)]
pub struct Presence {
    /// What it is called.
    pub worker: String,
    /// The machine on which it runs.
    pub host: String,
    /// What it serves, each with its slots.
    pub served: Vec<(Arc<Served>, Slots)>,
    /// The deliveries that are being walked with.
    pub in_flight: InFlight,
    /// The session of this moment.
    pub sessions: SessionWatch,
    /// Knows what failed last.
    pub metrics: Metrics,
}

/// What a worker is and does at this moment, and how it serves one target: the `data` of an
/// endpoint in its service's statistics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerReport {
    /// What it is called.
    pub worker: String,
    /// The machine on which it runs.
    pub host: String,
    /// The session under which it claims; none while it can claim nothing.
    pub session: Option<String>,
    /// How long it has had that session.
    pub session_age_ms: Option<u64>,
    /// Deliveries between arrival and settlement.
    pub in_flight: usize,
    /// How many requests of the target may run at once.
    pub slots: usize,
    /// How many more could run now.
    pub free: usize,
    /// The last fault of a server, as `server kind`.
    pub last_error: Option<String>,
    /// How long ago that was.
    pub last_error_age_ms: Option<u64>,
}

impl Presence {
    /// What it is and does at this moment, with the slots of `target`. Waits for nothing.
    #[must_use]
    pub fn report(&self, target: &str) -> WorkerReport {
        let session = self.sessions.current();
        let fault = self.metrics.last_fault();
        let mut served = self.served.iter();
        let slots = served.find(|(served, _)| served.name.as_str() == target);
        let slots = slots.map(|(_, slots)| slots);
        WorkerReport {
            worker: self.worker.clone(),
            host: self.host.clone(),
            session_age_ms: session.as_ref().map(|it| millis(it.age())),
            session: session.map(|it| it.id.to_string()),
            in_flight: self.in_flight.len(),
            slots: slots.map_or(0, Slots::all),
            free: slots.map_or(0, Slots::free),
            last_error: fault.map(|it| format!("{} {}", it.server, it.kind)),
            last_error_age_ms: fault.map(|it| millis(it.at.elapsed())),
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use tokio::{sync::watch, time::Instant};

    use super::*;
    use crate::{broker::BrokerFault, clock::Chance, pipeline::Session, store::SessionId};

    #[tokio::test(start_paused = true)]
    async fn a_worker_tells_its_session_while_it_lives_and_what_failed_last() {
        let id = SessionId::fresh(&Chance::seeded(1));
        let good_for = Duration::from_secs(10);
        let session = Arc::new(Session::new(id.clone(), Instant::now(), good_for));
        let (_announced, sessions) = watch::channel(Some(session));
        let presence = Presence {
            worker: "w-1".to_owned(),
            host: "here".to_owned(),
            served: Vec::new(),
            in_flight: InFlight::default(),
            sessions: SessionWatch::new(sessions),
            metrics: Metrics::new(&[]),
        };
        let fault = BrokerFault::TimedOut {
            operation: "publish",
            after: good_for,
        };
        presence.metrics.broker_faulted(&fault);
        tokio::time::advance(Duration::from_secs(4)).await;
        let report = presence.report("t");
        assert_eq!(report.session, Some(id.to_string()));
        assert_eq!(report.session_age_ms, Some(4_000));
        assert_eq!(report.last_error.as_deref(), Some("nats timed_out"));
        assert_eq!(report.last_error_age_ms, Some(4_000));
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(presence.report("t").session, None);
    }
}
