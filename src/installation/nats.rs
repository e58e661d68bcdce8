//! What a broker's inspection means.

use std::num::NonZeroU8;

use super::check::{Check, Level};
use crate::{
    broker::{Drift, Durability, Found, Inspected, Inspection, LaneState, SyncInterval},
    contract::PROMPT_BYTES_MAX,
};

/// A message holds at most the longest prompt, escaped, and what stands around it.
const PAYLOAD_MIN: usize = 2 * PROMPT_BYTES_MAX;

/// Looks at everything that was found; `durability` is what the streams were asked to be.
#[must_use]
pub fn nats_checks(inspection: &Inspection, durability: Durability) -> Vec<Check> {
    let mut checks = vec![version(inspection)];
    if inspection.will_do.is_err() {
        return checks;
    }
    checks.extend([
        permissions(&inspection.denied),
        sync(durability),
        payload(inspection.payload_max),
    ]);
    checks.extend(inspection.places.iter().map(place));
    checks
}

fn version(inspection: &Inspection) -> Check {
    let (name, seen) = ("nats version", inspection.version.clone());
    match &inspection.will_do {
        Ok(()) => Check::ok(name, seen, "it can do what the fleet needs"),
        Err(fault) => Check::ok(name, seen, fault.to_string())
            .at(Level::Error, "run nats-server 2.10 or newer with JetStream"),
    }
}

fn permissions(denied: &[String]) -> Check {
    let name = "nats permissions";
    if denied.is_empty() {
        return Check::ok(name, "granted", "a worker with this login may all it needs");
    }
    Check::ok(
        name,
        format!("{} denied", denied.len()),
        "a worker with this login does not start",
    )
    .at(
        Level::Error,
        format!(
            "allow to {}; config/nats-users.conf has such a user",
            denied.join(", ")
        ),
    )
}

fn sync(durability: Durability) -> Check {
    let name = "nats sync_interval";
    let alone = durability.replicas == NonZeroU8::MIN;
    let seen = match durability.sync {
        SyncInterval::Always => {
            return Check::ok(name, "always", "what was accepted is on the disk");
        }
        SyncInterval::Every(every) => humantime::format_duration(every).to_string(),
        SyncInterval::Unknown => "not told".to_owned(),
    };
    if alone {
        let meaning = "a power loss costs what was accepted since the last sync";
        let change = "set jetstream { sync_interval: always }, or nats.replicas = 3 on a cluster";
        Check::ok(name, seen, meaning).at(Level::Warning, change)
    } else {
        Check::ok(name, seen, "other replicas have what one loses")
    }
}

fn payload(max: usize) -> Check {
    let (name, seen) = ("nats max_payload", format!("{max} bytes"));
    if max >= PAYLOAD_MIN {
        return Check::ok(name, seen, "it takes the longest prompt");
    }
    Check::ok(name, seen, "long prompts and results are refused")
        .at(Level::Warning, "raise max_payload to 1MB")
}

fn place(place: &Inspected) -> Check {
    let name = format!("nats {}", place.name);
    let Some(Found { drift, lane }) = &place.found else {
        let meaning = "a worker makes it when it starts to serve";
        return Check::ok(name, "missing", meaning).at(Level::Warning, "start puruto worker");
    };
    if let Some(check) = lane.and_then(|lane| stuck(&name, lane)) {
        return check;
    }
    let seen = lane.map_or_else(|| "there".to_owned(), |lane| said(&lane));
    if drift.is_empty() {
        return Check::ok(name, seen, "it is what the fleet needs");
    }
    let drift = drift.iter().map(Drift::to_string).collect::<Vec<_>>();
    Check::ok(name, drift.join(", "), "it is not what the fleet needs").at(
        Level::Warning,
        "start puruto worker, which mends it where the server allows that",
    )
}

fn said(lane: &LaneState) -> String {
    let LaneState {
        queued,
        running,
        pulls,
        ..
    } = lane;
    format!("{queued} queued, {running} running, {pulls} pulls")
}

/// What keeps a lane from moving, if anything does.
fn stuck(name: &str, lane: LaneState) -> Option<Check> {
    let bad = |meaning, change| {
        let check = Check::ok(name, said(&lane), meaning);
        Some(check.at(Level::Error, change))
    };
    let pinned = lane.running_max.is_some_and(|max| lane.running >= max);
    if lane.ahead {
        bad(
            "it is ahead of its stream and delivers nothing",
            "delete the consumer: a worker makes it anew",
        )
    } else if pinned && lane.queued > 0 {
        bad(
            "as many run as max_ack_pending allows, and more wait",
            "start puruto worker, which takes the limit away",
        )
    } else if lane.queued > 0 && lane.pulls == 0 && lane.running == 0 {
        bad(
            "requests wait and nobody pulls",
            "start puruto worker for this target",
        )
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::broker::{BrokerFault, topology::Storage};

    fn durability(sync: SyncInterval) -> Durability {
        Durability {
            storage: Storage::File,
            replicas: NonZeroU8::MIN,
            sync,
        }
    }

    fn inspection() -> Inspection {
        Inspection {
            version: "2.12.4".into(),
            will_do: Ok(()),
            denied: Vec::new(),
            payload_max: 1 << 20,
            sync: SyncInterval::Always,
            clocks: None,
            places: Vec::new(),
            epoch: None,
        }
    }

    fn worst(inspection: &Inspection) -> (Level, String) {
        let checks = nats_checks(inspection, durability(inspection.sync));
        let worst = checks.iter().max_by_key(|check| check.level).unwrap();
        (worst.level, worst.to_string())
    }

    fn lane(lane: LaneState) -> Inspection {
        let found = Some(Found {
            drift: Vec::new(),
            lane: Some(lane),
        });
        let name = "consumer clerk".into();
        Inspection {
            places: vec![Inspected { name, found }],
            ..inspection()
        }
    }

    #[test]
    fn a_server_as_it_should_be_is_well() {
        assert_eq!(worst(&inspection()).0, Level::Ok);
        let busy = LaneState {
            queued: 5,
            running: 4,
            ..LaneState::default()
        };
        assert_eq!(worst(&lane(busy)).0, Level::Ok);
    }

    #[test]
    fn what_cannot_work_is_an_error() {
        let old = Inspection {
            will_do: Err(BrokerFault::Unsuitable("too old".into())),
            ..inspection()
        };
        assert_eq!(worst(&old).0, Level::Error);
        let denied = Inspection {
            denied: vec!["publish to $JS.ACK.X".into()],
            ..inspection()
        };
        let (level, words) = worst(&denied);
        assert_eq!(level, Level::Error);
        assert!(words.contains("$JS.ACK.X"), "{words}");
    }

    #[test]
    fn a_lane_that_does_not_move_is_an_error_that_says_why() {
        let waiting = LaneState {
            queued: 1,
            ..LaneState::default()
        };
        let ahead = LaneState {
            ahead: true,
            ..LaneState::default()
        };
        let pinned = LaneState {
            running: 4,
            running_max: Some(4),
            ..waiting
        };
        for (state, why) in [
            (waiting, "nobody pulls"),
            (ahead, "ahead of its stream"),
            (pinned, "max_ack_pending"),
        ] {
            let (level, words) = worst(&lane(state));
            assert_eq!(level, Level::Error);
            assert!(words.contains(why), "{words}");
        }
    }

    #[test]
    fn drift_and_what_a_power_loss_costs_are_warnings() {
        let found = Some(Found {
            drift: vec![Drift {
                setting: "max_age".into(),
                wanted: json!(1),
                found: json!(2),
            }],
            lane: None,
        });
        let name = "stream PURUTO_RESULTS".into();
        let drifted = Inspection {
            places: vec![Inspected { name, found }],
            ..inspection()
        };
        let (level, words) = worst(&drifted);
        assert_eq!(level, Level::Warning);
        assert!(words.contains("max_age is 2, wanted 1"), "{words}");
        for sync in [
            SyncInterval::Unknown,
            SyncInterval::Every(Duration::from_secs(120)),
        ] {
            assert_eq!(
                worst(&Inspection {
                    sync,
                    ..inspection()
                })
                .0,
                Level::Warning
            );
        }
        let small = Inspection {
            payload_max: 64 * 1024,
            ..inspection()
        };
        assert_eq!(worst(&small).0, Level::Warning);
    }
}
