//! What a lane has seen of its consumer's deliveries.

use std::collections::VecDeque;

/// Sequences that came, and what was still to come.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The highest that came while the connection was known to be whole.
    floor: u64,
    /// Those that may have come after it had broken: by its successor, in front of what was lost.
    later: Vec<u64>,
    /// Deliveries that the broker still owed: no more can have been lost.
    owed: usize,
}

/// Whether a delivery came by a connection that had not broken yet, as far as can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// It did.
    Before,
    /// Perhaps not.
    Later,
}

impl Seen {
    /// A delivery came.
    pub(super) fn saw(&mut self, sequence: u64, came: Came) {
        match came {
            Came::Before => self.floor = self.floor.max(sequence),
            Came::Later => self.later.push(sequence),
        }
    }

    /// What was seen until the inbox is given up; what comes from now on is seen anew.
    pub(super) fn take(&mut self, owed: usize) -> Self {
        let later = std::mem::take(&mut self.later);
        let seen = Self {
            floor: self.floor,
            later,
            owed,
        };
        self.floor = seen.later.iter().copied().fold(self.floor, u64::max);
        seen
    }

    /// What was lost has a higher sequence, unless it had been delivered before.
    pub(super) const fn floor(&self) -> u64 {
        self.floor
    }

    /// Deliveries that may have been lost, at most.
    pub(super) const fn owed(&self) -> usize {
        self.owed
    }

    /// Whether a sequence above the floor came all the same.
    pub(super) fn holds(&self, sequence: u64) -> bool {
        self.later.contains(&sequence)
    }
}

/// How many sequences are remembered: more than a search hands over.
const RECENT_MAX: usize = 1_024;

/// The sequences that came last, by whatever way.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent(VecDeque<u64>);

impl Recent {
    /// A delivery came.
    pub(super) fn add(&mut self, sequence: u64) {
        if self.0.len() == RECENT_MAX {
            self.0.pop_front();
        }
        self.0.push_back(sequence);
    }

    /// Whether it is among those that came last.
    pub(super) fn holds(&self, sequence: u64) -> bool {
        self.0.contains(&sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_by_a_connections_successor_does_not_hide_what_was_lost_with_it() {
        let mut lane = Seen::default();
        lane.saw(3, Came::Before);
        lane.saw(9, Came::Later);
        let seen = lane.take(4);
        assert_eq!((seen.floor(), seen.owed()), (3, 4));
        assert!(seen.holds(9) && !seen.holds(5));
        assert_eq!(lane.take(0).floor(), 9);
    }
}
