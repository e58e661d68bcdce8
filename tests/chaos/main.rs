//! A fleet of real processes under load and faults, and the verdict on everything that happened.
//!
//! Short, and each time the same: `puruto chaos` runs longer and with other seeds.

#[path = "../support/mod.rs"]
mod support;

use std::{num::NonZeroU16, time::Duration};

use puruto_fleet::{
    chaos::{self, Delegation, Pace, Settings, report},
    clock::{Chance, Clock},
};
use tempfile::TempDir;

use support::{guard, ours_that_configure, places, say};

/// What the faults and the requests of this test are drawn from.
const SEED: u64 = 7;

#[tokio::test]
async fn nothing_is_lost_or_done_twice_whatever_befalls_a_fleet_in_half_a_minute() {
    let folder = TempDir::new().expect("a temporary folder");
    let settings = Settings {
        seed: SEED,
        duration: Duration::from_secs(25),
        workers: NonZeroU16::new(3).expect("not 0"),
        rate: 15.0,
        pace: Pace::Quick,
        delegation: Delegation::On,
        folder: folder.path().to_owned(),
        places: places(),
        guard: guard(),
        unset: ours_that_configure(),
        clock: Clock::system(),
        chance: Chance::system(),
    };

    let outcome = chaos::run(&settings, &say).await.expect("a verdict");

    let told = report(&settings, &outcome);
    say(&told);
    if !outcome.verdict.holds() {
        // For whoever looks into it.
        let kept = folder.keep();
        panic!("{told}\neverything is kept in {}", kept.display());
    }
    let figures = &outcome.verdict.figures;
    assert!(figures.accepted > 200, "{told}");
    assert!(figures.faults.len() > 5, "{told}");
    assert!(!figures.recoveries.is_empty(), "{told}");
}
