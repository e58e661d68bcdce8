//! Every counter of this process, and their text as Prometheus scrapes it.
//!
//! Never: a global registry, an id as a label, a series for each target that a stranger names.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use prometheus::{IntCounter, IntCounterVec, IntGauge, Registry, TextEncoder};
use tokio::time::Instant;

use self::register::{CounterBy, OTHER, Registrar};
use super::{
    labels::{EvictionReason, Label, LaneAilment, ReloadOutcome, RenewalOutcome, UnservedEnd},
    names::{self, MetricDef},
};
use crate::{
    broker::{BrokerFault, DeadReason, nats::Incident},
    contract::PurutoName,
    store::StoreFault,
};

mod gen_ai;
/// What is counted of the gateway's requests.
pub mod http;
/// What is counted of the lanes.
pub mod lanes;
mod register;
/// What is counted of model calls.
pub mod runtime;
/// What is counted of one target's walk.
pub mod target;

use self::{
    http::HttpMetrics,
    lanes::{LaneGauges, LaneLoad},
    runtime::RuntimeMetrics,
    target::{TargetFamilies, TargetMetrics},
};

const NO_LABELS: [&str; 0] = [];

/// All counters of a process; a clone counts into the same.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Families>);

#[derive(Debug)]
struct Families {
    registry: Registry,
    targets: HashMap<PurutoName, Arc<TargetMetrics>>,
    other: Arc<TargetMetrics>,
    runtime: Arc<RuntimeMetrics>,
    http: Arc<HttpMetrics>,
    renewals: CounterBy<RenewalOutcome>,
    claims_found: IntCounter,
    fenced: IntCounter,
    clock_moved: IntCounter,
    reconnects: IntCounter,
    incidents: IntCounterVec,
    store_faults: IntCounterVec,
    broker_faults: IntCounterVec,
    reloads: CounterBy<ReloadOutcome>,
    supervisor: IntGauge,
    evicted: CounterBy<EvictionReason>,
    takeover_naks: IntCounter,
    buried: CounterBy<DeadReason>,
    lanes_renewed: CounterBy<LaneAilment>,
    lanes: LaneGauges,
    unserved_ended: CounterBy<UnservedEnd>,
    unserved_watched: IntGauge,
    circuits_alone: IntCounter,
    events_dropped: IntCounter,
    pull_stalled: IntCounter,
    last_fault: Mutex<Option<LastFault>>,
}

/// What a call to a server failed with.
#[derive(Clone, Copy, Debug)]
pub struct LastFault {
    /// `nats` or `redis`.
    pub server: &'static str,
    /// The kind, as it is counted.
    pub kind: &'static str,
    /// When it was counted.
    pub at: Instant,
}

impl Metrics {
    /// The counters of a process that serves `targets`, all at zero.
    #[must_use]
    pub fn new<'t>(targets: impl IntoIterator<Item = &'t PurutoName>) -> Self {
        let registry = Registry::new();
        let to = Registrar(&registry);
        let walk = TargetFamilies::register(&to);
        let targets: HashMap<_, _> = targets
            .into_iter()
            .map(|target| (target.clone(), Arc::new(walk.of(target.as_str()))))
            .collect();
        let families = Families {
            lanes: LaneGauges::register(&to, targets.keys()),
            targets,
            other: Arc::new(walk.of(OTHER)),
            runtime: Arc::new(RuntimeMetrics::register(&to)),
            http: Arc::new(HttpMetrics::register(&to)),
            renewals: by(&to, &names::SESSION_RENEWALS),
            claims_found: alone(&to, &names::CLAIMS_FOUND),
            fenced: alone(&to, &names::FENCED),
            clock_moved: alone(&to, &names::CLOCK_MOVED),
            reconnects: alone(&to, &names::BROKER_RECONNECTS),
            incidents: to.counter(&names::BROKER_INCIDENTS),
            store_faults: to.counter(&names::STORE_FAULTS),
            broker_faults: to.counter(&names::BROKER_FAULTS),
            reloads: by(&to, &names::POLICY_RELOADS),
            supervisor: to.gauge(&names::SUPERVISOR).with_label_values(&NO_LABELS),
            evicted: by(&to, &names::SESSIONS_EVICTED),
            takeover_naks: alone(&to, &names::TAKEOVER_NAKS),
            buried: by(&to, &names::DEAD_LETTERS),
            lanes_renewed: by(&to, &names::LANES_RENEWED),
            unserved_ended: by(&to, &names::UNSERVED_ENDED),
            unserved_watched: to
                .gauge(&names::UNSERVED_WATCHED)
                .with_label_values(&NO_LABELS),
            circuits_alone: alone(&to, &names::CIRCUITS_ALONE),
            events_dropped: alone(&to, &names::EVENTS_DROPPED),
            pull_stalled: alone(&to, &names::PULL_STALLED),
            last_fault: Mutex::default(),
            registry,
        };
        Self(Arc::new(families))
    }

    /// The counters of `target`; all targets that are not served share those of `other`.
    #[must_use]
    pub fn target(&self, target: &PurutoName) -> Arc<TargetMetrics> {
        let found = self.0.targets.get(target);
        Arc::clone(found.unwrap_or(&self.0.other))
    }

    /// The counters of model calls, for the runtime to observe with.
    #[must_use]
    pub fn runtime(&self) -> Arc<RuntimeMetrics> {
        Arc::clone(&self.0.runtime)
    }

    /// The counters of whoever asks over HTTP.
    #[must_use]
    pub fn http(&self) -> Arc<HttpMetrics> {
        Arc::clone(&self.0.http)
    }

    /// The session was renewed, or not.
    pub fn session_renewed(&self, outcome: RenewalOutcome) {
        self.0.renewals.inc(outcome);
    }

    /// A claim of this process was given back that nobody in it worked on.
    pub fn claim_found(&self) {
        self.0.claims_found.inc();
    }

    /// What happened to a request was not told.
    pub fn event_dropped(&self) {
        self.0.events_dropped.inc();
    }

    /// This process fenced itself.
    pub fn fenced(&self) {
        self.0.fenced.inc();
    }

    /// This process's clock was off and followed the store's.
    pub fn clock_moved(&self) {
        self.0.clock_moved.inc();
    }

    /// A message was kept as a dead letter.
    pub fn buried(&self, reason: DeadReason) {
        self.0.buried.inc(reason);
    }

    /// Something befell a connection to the broker.
    pub fn broker_incident(&self, incident: &Incident) {
        count_kind(&self.0.incidents, incident.kind());
        match incident {
            Incident::Reconnected | Incident::Rebuilt => self.0.reconnects.inc(),
            Incident::PullStalled => self.0.pull_stalled.inc(),
            Incident::Unreadable { .. } => self.buried(DeadReason::Unreadable),
            Incident::Disconnected
            | Incident::SlowConsumer
            | Incident::PermissionDenied(_)
            | Incident::LameDuck
            | Incident::UnreadableResult { .. }
            | Incident::StreamRestored(_)
            | Incident::Error(_) => {}
        }
    }

    /// A call to the store failed.
    pub fn store_faulted(&self, fault: &StoreFault) {
        count_kind(&self.0.store_faults, fault.kind());
        self.faulted("redis", fault.kind());
    }

    /// A call to the broker failed.
    pub fn broker_faulted(&self, fault: &BrokerFault) {
        count_kind(&self.0.broker_faults, fault.kind());
        self.faulted("nats", fault.kind());
    }

    fn faulted(&self, server: &'static str, kind: &'static str) {
        let at = Instant::now();
        let fault = LastFault { server, kind, at };
        *self.last_fault_place() = Some(fault);
    }

    /// The fault that was counted last, if there was one.
    #[must_use]
    pub fn last_fault(&self) -> Option<LastFault> {
        *self.last_fault_place()
    }

    fn last_fault_place(&self) -> MutexGuard<'_, Option<LastFault>> {
        let place = self.0.last_fault.lock();
        place.unwrap_or_else(PoisonError::into_inner)
    }

    /// A changed policy file was read.
    pub fn policy_reloaded(&self, outcome: ReloadOutcome) {
        self.0.reloads.inc(outcome);
    }

    /// This process supervises the fleet from now on, or no longer.
    pub fn set_supervisor(&self, leads: bool) {
        self.0.supervisor.set(i64::from(leads));
    }

    /// A dead session was ended by this process.
    pub fn session_evicted(&self, reason: EvictionReason) {
        self.0.evicted.inc(reason);
    }

    /// This many messages were given back on behalf of a dead worker.
    pub fn gave_back_for_the_dead(&self, messages: usize) {
        self.0.takeover_naks.inc_by(messages as u64);
    }

    /// A lane's consumer was made anew.
    pub fn lane_renewed(&self, ailment: LaneAilment) {
        self.0.lanes_renewed.inc(ailment);
    }

    /// This is in the lanes now, and nothing is in the others.
    pub fn set_lanes<'l>(&self, loads: impl IntoIterator<Item = LaneLoad<'l>>) {
        self.0.lanes.set(loads);
    }

    /// A request was ended that no worker pulled.
    pub fn unserved_ended(&self, why: UnservedEnd) {
        self.0.unserved_ended.inc(why);
    }

    /// So many requests wait for workers that are away, watched by this process.
    pub fn set_unserved_watched(&self, requests: usize) {
        let requests = i64::try_from(requests).unwrap_or(i64::MAX);
        self.0.unserved_watched.set(requests);
    }

    /// This process lost what the fleet shares of its model servers, and goes by its own.
    pub fn went_alone(&self) {
        self.0.circuits_alone.inc();
    }

    /// All counters in the text format 0.0.4 of Prometheus.
    #[must_use]
    pub fn render(&self) -> String {
        TextEncoder::new()
            .encode_to_string(&self.0.registry.gather())
            .expect(
                "a registry gathers only families that have a series, which is all that can fail",
            )
    }
}

fn by<L: Label>(to: &Registrar<'_>, def: &MetricDef) -> CounterBy<L> {
    let family = to.counter(def);
    CounterBy::new(|value: L| family.with_label_values(&[value.text()]))
}

/// Faults are rare enough to be looked up, and their own type names their kinds.
fn count_kind(family: &IntCounterVec, kind: &'static str) {
    family.with_label_values(&[kind]).inc();
}

fn alone(to: &Registrar<'_>, def: &MetricDef) -> IntCounter {
    to.counter(def).with_label_values(&NO_LABELS)
}

#[cfg(test)]
mod tests;
