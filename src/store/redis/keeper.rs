//! Makes a new connection whenever the last one was given up, ever more patiently.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};

use super::link::{Line, Shared};
use crate::clock::Chance;

/// The first and the longest pause between two attempts to connect.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// A connection that lived this long was good: the next one is made without a pause.
const STABLE: Duration = Duration::from_secs(5);

/// Makes a new connection whenever the last one was given up.
pub(super) async fn keep(shared: Arc<Shared>, chance: Chance) {
    let mut line = shared.line.subscribe();
    let mut failures = 0;
    let mut up_since = Instant::now();
    while line.wait_for(Line::is_down).await.is_ok() {
        failures = if up_since.elapsed() < STABLE {
            failures + 1
        } else {
            0
        };
        loop {
            sleep(pause(failures, &chance)).await;
            match shared.dialer.dial().await {
                Ok(dialled) => {
                    up_since = Instant::now();
                    tracing::info!(address = %dialled.address, "store connected again");
                    shared.line.send_replace(Line::up(dialled));
                    break;
                }
                Err(why) => shared.line.send_modify(|line| {
                    if let Line::Down { fault, .. } = line {
                        *fault = why;
                    }
                }),
            }
            failures += 1;
        }
    }
}

fn pause(failures: u32, chance: &Chance) -> Duration {
    match failures.checked_sub(1) {
        None => Duration::ZERO,
        Some(doublings) => {
            let pause = PAUSE_MIN.saturating_mul(2_u32.saturating_pow(doublings));
            chance.around(pause.min(PAUSE_MAX), 0.25)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_attempt_is_made_at_once_and_later_ones_ever_more_apart() {
        let chance = Chance::seeded(1);
        assert_eq!(pause(0, &chance), Duration::ZERO);
        assert!(pause(1, &chance) < Duration::from_millis(64));
        assert!(pause(3, &chance) > Duration::from_millis(149));
        assert!(pause(u32::MAX, &chance) <= PAUSE_MAX.mul_f64(1.25));
    }
}
