//! What a Redis server's report means.

use super::check::{Check, Level};
use crate::store::redis::{Fsync, Persistence, StoreReport};

/// A server that is so full will soon refuse writes, in percent.
const FULL_FROM: u64 = 90;

/// Looks at everything that a server said of itself.
#[must_use]
pub fn redis_checks(report: &StoreReport) -> Vec<Check> {
    vec![
        version(report),
        role(report),
        eviction(report),
        persistence(&report.persistence),
        memory(report),
    ]
}

/// One that is too old is refused before it reports.
fn version(report: &StoreReport) -> Check {
    let seen = format!("{} {}", report.server, report.version);
    Check::ok("redis version", seen, "it can do what the fleet needs")
}

fn role(report: &StoreReport) -> Check {
    let name = "redis role";
    match report.role.as_deref() {
        None => Check::ok(name, "not told", "it is taken for a master"),
        Some("master") => Check::ok(name, "master", "it takes writes"),
        Some(role) => Check::ok(name, role, "it takes no writes: nothing can be claimed")
            .at(Level::Error, "set redis.url to the master"),
    }
}

fn eviction(report: &StoreReport) -> Check {
    let name = "redis maxmemory-policy";
    let change = "set maxmemory-policy noeviction";
    match report.eviction.as_deref() {
        Some("noeviction") => Check::ok(
            name,
            "noeviction",
            "under pressure it refuses writes, and loses none",
        ),
        Some(policy) => Check::ok(
            name,
            policy,
            "under pressure it evicts claims and results, and requests run twice",
        )
        .at(Level::Error, change),
        None => Check::ok(name, "not told", "it may evict claims and results")
            .at(Level::Warning, format!("make sure of it: {change}")),
    }
}

fn persistence(persistence: &Persistence) -> Check {
    let name = "redis persistence";
    let change = "set appendonly yes and appendfsync everysec";
    let aof = |fsync: &str, meaning| Check::ok(name, format!("appendfsync {fsync}"), meaning);
    match persistence {
        Persistence::AppendOnly(Fsync::Always) => aof("always", "a claim that was made is kept"),
        Persistence::AppendOnly(Fsync::EverySecond) => {
            aof("everysec", "a crash costs a second of claims")
        }
        Persistence::AppendOnly(Fsync::Unknown) => aof("not told", "a crash costs some claims"),
        Persistence::AppendOnly(Fsync::Never) => aof(
            "no",
            "a crash of its machine costs what was not written yet",
        )
        .at(Level::Warning, "set appendfsync everysec"),
        Persistence::Snapshots(save) => Check::ok(
            name,
            format!("save {save}"),
            "a crash costs the claims since the last snapshot",
        )
        .at(Level::Warning, change),
        Persistence::None => {
            Check::ok(name, "none", "a restart costs every claim").at(Level::Warning, change)
        }
        Persistence::Unknown => Check::ok(name, "not told", "a crash may cost every claim")
            .at(Level::Warning, format!("make sure of it: {change}")),
    }
}

fn memory(report: &StoreReport) -> Check {
    let name = "redis memory";
    match (report.memory_used, report.memory_max) {
        (Some(used), Some(max)) if max > 0 => {
            let percent = used.saturating_mul(100) / max;
            let seen = format!("{used} of {max} bytes");
            if percent < FULL_FROM {
                return Check::ok(name, seen, "there is room");
            }
            let meaning =
                "soon nothing can be claimed or committed; what runs waits and is not lost";
            Check::ok(name, seen, meaning)
                .at(Level::Warning, "raise maxmemory, or lower redis.retention")
        }
        (Some(used), _) => Check::ok(name, format!("{used} bytes"), "there is no limit"),
        (None, _) => Check::ok(name, "not told", "nothing is known of a limit"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> StoreReport {
        StoreReport {
            server: "redis",
            version: "7.4.0".into(),
            role: Some("master".into()),
            eviction: Some("noeviction".into()),
            persistence: Persistence::AppendOnly(Fsync::EverySecond),
            memory_max: Some(0),
            memory_used: Some(1_000),
        }
    }

    fn worst(report: &StoreReport) -> (Level, String) {
        let checks = redis_checks(report);
        let worst = checks.iter().max_by_key(|check| check.level).unwrap();
        (worst.level, worst.to_string())
    }

    #[test]
    fn a_server_as_it_should_be_is_well() {
        assert_eq!(worst(&report()).0, Level::Ok);
    }

    #[test]
    fn a_server_that_evicts_is_an_error_that_names_the_setting_and_the_change() {
        for policy in [
            "allkeys-lru",
            "volatile-lru",
            "volatile-ttl",
            "allkeys-random",
        ] {
            let mut report = report();
            report.eviction = Some(policy.into());
            let (level, words) = worst(&report);
            assert_eq!(level, Level::Error);
            assert!(
                words.contains("maxmemory-policy") && words.contains(policy),
                "{words}"
            );
            assert!(words.contains("set maxmemory-policy noeviction"), "{words}");
        }
    }

    #[test]
    fn a_replica_is_an_error_and_what_costs_claims_is_a_warning() {
        let mut replica = report();
        replica.role = Some("slave".into());
        assert_eq!(worst(&replica).0, Level::Error);

        let mut full = report();
        (full.memory_max, full.memory_used) = (Some(1_000), Some(901));
        assert_eq!(worst(&full).0, Level::Warning);

        for persistence in [
            Persistence::None,
            Persistence::Unknown,
            Persistence::Snapshots("3600 1".into()),
            Persistence::AppendOnly(Fsync::Never),
        ] {
            let mut report = report();
            report.persistence = persistence;
            assert_eq!(worst(&report).0, Level::Warning, "{report:?}");
        }
        let mut silent = report();
        silent.eviction = None;
        assert_eq!(worst(&silent).0, Level::Warning);
    }
}
