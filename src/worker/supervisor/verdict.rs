//! Who is dead. Pure.

use std::time::Duration;

use crate::{broker::Pong, telemetry::labels::EvictionReason};

/// For how long our own connection must have been up before "no responders" counts: longer than
/// any worker waits between two tries to reconnect, so that after a restart of the server everyone
/// has had the time to come back.
pub(super) const STABLE_FOR: Duration = Duration::from_secs(8);

/// What was seen of a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// It was renewed within its time to live.
    pub(super) lives: bool,
    /// It has said that it answers pings.
    pub(super) answers_pings: bool,
    /// What the ping was answered.
    pub(super) pong: Pong,
    /// For how long our own connection has been up since it was.
    pub(super) stable_for: Duration,
    /// The look before this one left it suspected.
    pub(super) suspected: bool,
}

/// What is made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing speaks against it.
    Alive,
    /// Dead, if the next look says so too.
    Suspect,
    /// Its process is gone, or its time is up.
    Dead(EvictionReason),
}

/// Silence is never death: a process that is slow, or stopped and may go on, is silent too. It is
/// dead when its time is up, or when the broker has twice in a row said that nobody is there.
pub(super) fn verdict(seen: &Seen) -> Verdict {
    if !seen.lives {
        return Verdict::Dead(EvictionReason::Expired);
    }
    match seen.pong {
        Pong::Answered | Pong::Silent => Verdict::Alive,
        // It may not have begun to listen, or not have come back yet.
        Pong::NoResponders if !seen.answers_pings || seen.stable_for < STABLE_FOR => Verdict::Alive,
        Pong::NoResponders if !seen.suspected => Verdict::Suspect,
        Pong::NoResponders => Verdict::Dead(EvictionReason::NoResponders),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GONE: Seen = Seen {
        lives: true,
        answers_pings: true,
        pong: Pong::NoResponders,
        stable_for: STABLE_FOR,
        suspected: true,
    };

    #[test]
    fn a_session_is_dead_when_nobody_is_there_twice_in_a_row() {
        let first = Seen {
            suspected: false,
            ..GONE
        };
        assert_eq!(verdict(&first), Verdict::Suspect);
        assert_eq!(verdict(&GONE), Verdict::Dead(EvictionReason::NoResponders));
    }

    #[test]
    fn a_session_whose_time_is_up_is_dead_whoever_answers() {
        for pong in [Pong::Answered, Pong::Silent, Pong::NoResponders] {
            let seen = Seen {
                lives: false,
                suspected: false,
                pong,
                ..GONE
            };
            assert_eq!(verdict(&seen), Verdict::Dead(EvictionReason::Expired));
        }
    }

    #[test]
    fn silence_is_no_death_and_clears_a_suspicion() {
        for pong in [Pong::Answered, Pong::Silent] {
            assert_eq!(verdict(&Seen { pong, ..GONE }), Verdict::Alive);
        }
    }

    #[test]
    fn nobody_there_says_nothing_of_who_never_answered_or_may_still_come_back() {
        let never = Seen {
            answers_pings: false,
            ..GONE
        };
        let unstable = Seen {
            stable_for: STABLE_FOR - Duration::from_millis(1),
            ..GONE
        };
        assert_eq!(verdict(&never), Verdict::Alive);
        assert_eq!(verdict(&unstable), Verdict::Alive);
    }
}
