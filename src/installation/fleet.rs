//! What both servers and the workers are like together.

use std::time::Duration;

use super::check::{Check, Level};
use crate::{clock::WallTime, contract::PurutoName};

/// Clocks that differ by less do no harm.
const SKEW_MAX: Duration = Duration::from_secs(1);

/// Whether the fleet remembers the epoch that the store has.
#[must_use]
pub fn epoch_check(store: Option<&str>, remembered: Option<&str>) -> Check {
    let name = "epoch";
    match (store, remembered) {
        (None, None) => Check::ok(name, "none", "no worker has run yet"),
        (Some(store), Some(remembered)) if store == remembered => Check::ok(
            name,
            "the same",
            "redis has the data that results came from",
        ),
        (Some(_), Some(_)) => Check::ok(
            name,
            "differs",
            "redis was emptied, or is not the one that this fleet used",
        )
        .at(
            Level::Warning,
            "check redis.url; if it is right, the next worker to start remembers the new epoch",
        ),
        (Some(_), None) | (None, Some(_)) => Check::ok(
            name,
            "on one server only",
            "one of the servers was emptied, or a worker has just begun",
        )
        .at(
            Level::Warning,
            "check nats.url and redis.url; if they are right, start puruto worker",
        ),
    }
}

/// Whether a server's clock agrees with ours.
#[must_use]
pub fn clock_check(server: &str, ours: WallTime, theirs: WallTime) -> Check {
    let (name, skew) = (
        format!("{server} clock"),
        ours.since(theirs).max(theirs.since(ours)),
    );
    let seen = format!("{} from this machine's", humantime::format_duration(skew));
    if skew <= SKEW_MAX {
        return Check::ok(name, seen, "deadlines mean the same everywhere");
    }
    let meaning = "deadlines are measured from the broker's time by the store's";
    Check::ok(name, seen, meaning).at(
        Level::Warning,
        "synchronise the clocks of the machines, by NTP for one",
    )
}

/// Whether anybody serves a target.
#[must_use]
pub fn workers_check(target: &PurutoName, workers: usize) -> Check {
    let name = format!("workers of {target}");
    match workers {
        0 => Check::ok(name, "none", "its requests wait").at(Level::Warning, "start puruto worker"),
        1 => Check::ok(
            name,
            "1",
            "its requests are served; another would take over",
        ),
        many => Check::ok(name, many.to_string(), "its requests are served"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_that_differ_are_a_warning() {
        assert_eq!(epoch_check(None, None).level, Level::Ok);
        assert_eq!(epoch_check(Some("a"), Some("a")).level, Level::Ok);
        assert_eq!(epoch_check(Some("a"), Some("b")).level, Level::Warning);
        assert_eq!(epoch_check(Some("a"), None).level, Level::Warning);
    }

    #[test]
    fn a_clock_may_be_off_by_a_second_to_either_side() {
        let at = WallTime::from_unix_millis;
        for (theirs, level) in [
            (9_000, Level::Ok),
            (11_000, Level::Ok),
            (8_999, Level::Warning),
            (11_001, Level::Warning),
        ] {
            assert_eq!(clock_check("nats", at(10_000), at(theirs)).level, level);
        }
    }

    #[test]
    fn a_target_without_workers_is_a_warning() {
        let clerk = "clerk".parse().unwrap();
        assert_eq!(workers_check(&clerk, 0).level, Level::Warning);
        assert_eq!(workers_check(&clerk, 2).level, Level::Ok);
    }
}
