//! What a worker makes sure of before it serves, and what it then says that it guarantees.

use crate::{
    broker::Durability,
    installation::{Check, Guarantee, Level, redis_checks},
    store::{StoreFault, redis::StoreReport},
};

/// Refuses a Redis that loses what the fleet promises to keep.
///
/// # Errors
/// [`StoreFault::Unsuitable`] with what to change; [`StoreFault::Unready`] for a replica, which may
/// become the master.
pub(super) fn will_do(report: &StoreReport) -> Result<(), StoreFault> {
    let checks = redis_checks(report);
    let errors = checks.iter().filter(|check| check.level == Level::Error);
    let reason = errors.map(Check::to_string).collect::<Vec<_>>().join(", ");
    if reason.is_empty() {
        Ok(())
    } else if report.is_replica() {
        Err(StoreFault::Unready { reason })
    } else {
        Err(StoreFault::Unsuitable(reason))
    }
}

/// Warns of what could cost work, and says in one line what the installation guarantees.
pub(super) fn announce(report: &StoreReport, durability: Durability) {
    for check in redis_checks(report) {
        if check.level == Level::Warning {
            tracing::warn!(%check, "the installation could lose work");
        }
    }
    let guarantee = Guarantee::of(&report.persistence, durability);
    tracing::info!(%guarantee, "what this installation guarantees");
}
