//! What is wrong with a lane. Pure.

use crate::{broker::LaneStanding, clock::WallTime, telemetry::labels::LaneAilment};

/// What was seen of a lane that has messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// How its consumer stands.
    pub(super) state: LaneStanding,
    /// The last sequence of the stream, read afterwards.
    pub(super) last: u64,
    /// The oldest message in a lane whose consumer has nothing to deliver and waits for nothing.
    pub(super) oldest: Option<u64>,
    /// When the oldest message in the lane was stored, if there still was one.
    pub(super) oldest_stored: Option<WallTime>,
}

/// What ails a lane, if two looks in a row say the same.
pub(super) fn ailment(now: &Seen, before: Option<&Seen>) -> Option<LaneAilment> {
    let before = before?;
    if now.is_ahead() && before.is_ahead() {
        return Some(LaneAilment::Ahead);
    }
    let is_stranded = now.oldest.is_some() && now.oldest == before.oldest;
    is_stranded.then_some(LaneAilment::Stranded)
}

impl Seen {
    /// The consumer waits for messages beyond the end of the stream and skips those in between.
    const fn is_ahead(&self) -> bool {
        self.state.delivered > self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEALTHY: Seen = Seen {
        state: LaneStanding {
            pending: 1,
            unsettled: 1,
            delivered: 9,
        },
        last: 9,
        oldest: None,
        oldest_stored: None,
    };

    #[test]
    fn a_lane_that_is_being_worked_on_is_well() {
        assert_eq!(ailment(&HEALTHY, Some(&HEALTHY)), None);
    }

    #[test]
    fn a_consumer_beyond_the_end_of_its_stream_skips_what_comes() {
        let ahead = Seen { last: 8, ..HEALTHY };
        assert_eq!(ailment(&ahead, Some(&ahead)), Some(LaneAilment::Ahead));
        assert_eq!(ailment(&ahead, Some(&HEALTHY)), None);
        assert_eq!(ailment(&ahead, None), None);
    }

    #[test]
    fn the_same_message_twice_that_nobody_is_given_is_stranded() {
        let stranded = |oldest| Seen {
            oldest: Some(oldest),
            ..HEALTHY
        };
        let (one, other) = (stranded(3), stranded(4));
        assert_eq!(ailment(&one, Some(&one)), Some(LaneAilment::Stranded));
        assert_eq!(ailment(&other, Some(&one)), None);
        assert_eq!(ailment(&one, Some(&HEALTHY)), None);
    }
}
