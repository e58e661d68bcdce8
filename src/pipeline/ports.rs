//! Everything that the walk stands on.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio_util::sync::CancellationToken;

use super::{DelegationRules, EventsOf, InFlight, LastChances, SessionWatch, admit::Asked};
use crate::{
    broker::BrokerFault,
    clock::{Chance, Clock, WallTime},
    contract::{Limits, PurutoName, Subjects},
    handler::{Handler, crash::CrashAt},
    policy::LivePolicies,
    puruto::Actions,
    store::StoreFault,
    telemetry::metrics::{Metrics, target::TargetMetrics},
};

/// Everything that the walk stands on.
#[derive(Debug)]
pub struct Ports<B, C> {
    /// Where requests come from and results go.
    pub broker: B,
    /// Who works on what.
    pub claims: C,
    /// Who may ask whom for what.
    pub policies: LivePolicies,
    /// The grammar of subjects.
    pub subjects: Subjects,
    /// The stream that holds the requests; ids are minted from its name.
    pub invoke_stream: String,
    /// The time of day.
    pub clock: Clock,
    /// Nonces and jitter.
    pub chance: Chance,
    /// This worker's name.
    pub worker: String,
    /// The deliveries that are being walked with.
    pub in_flight: InFlight,
    /// The session of this moment.
    pub sessions: SessionWatch,
    /// What is poisoned if this worker dies.
    pub last_chances: LastChances,
    /// Whether the store lost its records.
    pub epochs: EpochWatch,
    /// How much may be delegated.
    pub delegation: DelegationRules,
    /// Where this process is to die, for whoever wants to see it.
    pub crash: CrashAt,
    /// Ends when whatever still runs is to be handed to another worker.
    pub hand_over: CancellationToken,
    /// Of which requests is told what happens to them.
    pub events: EventsOf,
    /// What is counted.
    pub metrics: Metrics,
}

impl<B, C> Ports<B, C> {
    pub(super) fn place_of(&self, asked: &Asked) -> String {
        self.subjects.result(&asked.correlation, &asked.key.request)
    }

    pub(super) fn store_faulted(&self, fault: &StoreFault, operation: &'static str) {
        self.metrics.store_faulted(fault);
        tracing::warn!(operation, %fault, "store_fault");
    }

    pub(super) fn broker_faulted(&self, fault: &BrokerFault, operation: &'static str) {
        self.metrics.broker_faulted(fault);
        tracing::warn!(operation, %fault, "broker_fault");
    }
}

/// A target whose deliveries are walked with here.
pub struct Served {
    /// Its name.
    pub name: PurutoName,
    /// Who does its work.
    pub service: Service,
    /// What is counted of it.
    pub metrics: Arc<TargetMetrics>,
}

impl Served {
    /// The route to its model that a new run keeps to; none where it keeps no runs here.
    #[must_use]
    pub fn route(&self) -> Option<String> {
        match &self.service {
            Service::Here { handler, .. } => handler.route(),
            Service::Away | Service::Nobody => None,
        }
    }
}

/// Who does a target's work.
pub enum Service {
    /// This worker.
    Here {
        /// What it can be asked to do.
        actions: Actions,
        /// Who does it.
        handler: Arc<dyn Handler>,
        /// What one request may spend, its descendants included.
        budget: Limits,
    },
    /// Workers that are away: what has no answer yet is left to them until its deadline.
    Away,
    /// Nobody, ever: whoever asks is told so.
    Nobody,
}

impl fmt::Debug for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Served({})", self.name)
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Here { .. } => "Here",
            Self::Away => "Away",
            Self::Nobody => "Nobody",
        })
    }
}

/// Until when the store is known to lack records of requests that have results. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct EpochWatch(Arc<AtomicU64>);

impl EpochWatch {
    /// The store was emptied: results from before may stand in the stream until `until`.
    pub fn emptied_until(&self, until: WallTime) {
        self.0.fetch_max(until.unix_millis(), Ordering::SeqCst);
    }

    /// Whether a request without a record may have a result all the same.
    #[must_use]
    pub fn store_was_emptied(&self, now: WallTime) -> bool {
        now.unix_millis() < self.0.load(Ordering::SeqCst)
    }
}
