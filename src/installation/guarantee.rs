//! What is lost when a server's process, or its whole machine, ends without warning.
//!
//! Requests and results stand in NATS, claims and commits in Redis. Whatever Redis loses is done
//! again, and never answered twice: the result that was published first stays.

use std::{fmt, time::Duration};

use crate::{
    broker::{Durability, SyncInterval, topology::Storage},
    store::redis::{Fsync, Persistence},
};

/// What `sync_interval` is unless it is set.
const SYNC_INTERVAL_DEFAULT: Duration = Duration::from_secs(120);

/// How long the kernel may keep written bytes back, as Linux does by default.
const KERNEL_WRITES_WITHIN: Duration = Duration::from_secs(30);

/// What an installation guarantees, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarantee {
    redis: String,
    nats: String,
}

impl Guarantee {
    /// What these two facts amount to.
    #[must_use]
    pub fn of(persistence: &Persistence, durability: Durability) -> Self {
        Self {
            redis: of_redis(persistence),
            nats: of_nats(durability),
        }
    }

    /// The part that Redis decides.
    #[must_use]
    pub fn redis(&self) -> &str {
        &self.redis
    }

    /// The part that NATS decides.
    #[must_use]
    pub fn nats(&self) -> &str {
        &self.nats
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.redis, self.nats)
    }
}

fn of_redis(persistence: &Persistence) -> String {
    let repeated = "repeated work, no request";
    match persistence {
        Persistence::AppendOnly(Fsync::Always) => {
            "a crash of the Redis machine loses nothing".to_owned()
        }
        Persistence::AppendOnly(Fsync::EverySecond) => {
            format!("a crash of the Redis machine loses at most 1s of claims: {repeated}")
        }
        Persistence::AppendOnly(Fsync::Never) => format!(
            "a crash of the Redis machine loses at most about {} of claims: {repeated}",
            span(KERNEL_WRITES_WITHIN)
        ),
        Persistence::AppendOnly(Fsync::Unknown) => {
            format!("a crash of the Redis machine loses some claims: {repeated}")
        }
        Persistence::Snapshots(save) => format!(
            "a crash of Redis loses the claims since its last snapshot (save {save}): {repeated}"
        ),
        Persistence::None => format!("a restart of Redis loses every claim: {repeated}"),
        Persistence::Unknown => format!(
            "a crash of Redis may lose every claim (it does not say how it persists): {repeated}"
        ),
    }
}

const KEPT: &str = "accepted requests and results";

fn of_nats(durability: Durability) -> String {
    let replicas = durability.replicas.get();
    match durability.storage {
        Storage::Memory => in_memory(replicas),
        Storage::File => on_disk(replicas, durability.sync),
    }
}

fn in_memory(replicas: u8) -> String {
    match replicas {
        1 => format!("a restart of nats-server loses all {KEPT} (storage memory)"),
        _ => format!("a restart of most nats-servers at once loses all {KEPT} (storage memory)"),
    }
}

fn on_disk(replicas: u8, sync: SyncInterval) -> String {
    let (window, because) = match sync {
        SyncInterval::Always => {
            let who = match replicas {
                1 => "the NATS machine".to_owned(),
                _ => format!("all {replicas} NATS machines"),
            };
            return format!("a power loss of {who} loses nothing (sync_interval always)");
        }
        SyncInterval::Every(every) => (every, format!("sync_interval {}", span(every))),
        SyncInterval::Unknown => (
            SYNC_INTERVAL_DEFAULT,
            "the default of sync_interval, which cannot be read".to_owned(),
        ),
    };
    let lost = format!("at most the last {} of {KEPT} ({because})", span(window));
    match replicas {
        1 => format!("a crash of nats-server loses nothing, a power loss of its machine {lost}"),
        _ => format!(
            "a power loss of one NATS machine loses nothing ({replicas} replicas), of most at once {lost}"
        ),
    }
}

fn span(duration: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(duration)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU8;

    use super::*;

    fn nats(storage: Storage, replicas: u8, sync: SyncInterval) -> String {
        let replicas = NonZeroU8::new(replicas).unwrap();
        let durability = Durability {
            storage,
            replicas,
            sync,
        };
        of_nats(durability)
    }

    #[test]
    fn what_a_crash_of_redis_costs_is_work_and_never_a_request() {
        use Persistence::{AppendOnly, None, Snapshots, Unknown};
        let rows = [
            (
                AppendOnly(Fsync::Always),
                "a crash of the Redis machine loses nothing",
            ),
            (
                AppendOnly(Fsync::EverySecond),
                "a crash of the Redis machine loses at most 1s of claims: repeated work, no request",
            ),
            (
                AppendOnly(Fsync::Never),
                "a crash of the Redis machine loses at most about 30s of claims: repeated work, no request",
            ),
            (
                AppendOnly(Fsync::Unknown),
                "a crash of the Redis machine loses some claims: repeated work, no request",
            ),
            (
                Snapshots("3600 1 300 100".into()),
                "a crash of Redis loses the claims since its last snapshot (save 3600 1 300 100): repeated work, no request",
            ),
            (
                None,
                "a restart of Redis loses every claim: repeated work, no request",
            ),
            (
                Unknown,
                "a crash of Redis may lose every claim (it does not say how it persists): repeated work, no request",
            ),
        ];
        for (persistence, words) in rows {
            assert_eq!(of_redis(&persistence), words);
        }
    }

    #[test]
    fn what_a_power_loss_costs_depends_on_storage_replicas_and_sync_interval() {
        let (file, memory) = (Storage::File, Storage::Memory);
        let seconds = |seconds| SyncInterval::Every(Duration::from_secs(seconds));
        let rows = [
            (
                nats(file, 1, SyncInterval::Always),
                "a power loss of the NATS machine loses nothing (sync_interval always)",
            ),
            (
                nats(file, 3, SyncInterval::Always),
                "a power loss of all 3 NATS machines loses nothing (sync_interval always)",
            ),
            (
                nats(file, 1, seconds(10)),
                "a crash of nats-server loses nothing, a power loss of its machine at most the last 10s of accepted requests and results (sync_interval 10s)",
            ),
            (
                nats(file, 1, SyncInterval::Unknown),
                "a crash of nats-server loses nothing, a power loss of its machine at most the last 2m of accepted requests and results (the default of sync_interval, which cannot be read)",
            ),
            (
                nats(file, 3, seconds(120)),
                "a power loss of one NATS machine loses nothing (3 replicas), of most at once at most the last 2m of accepted requests and results (sync_interval 2m)",
            ),
            (
                nats(memory, 1, SyncInterval::Always),
                "a restart of nats-server loses all accepted requests and results (storage memory)",
            ),
            (
                nats(memory, 3, SyncInterval::Unknown),
                "a restart of most nats-servers at once loses all accepted requests and results (storage memory)",
            ),
        ];
        for (said, words) in rows {
            assert_eq!(said, words);
        }
    }
}
