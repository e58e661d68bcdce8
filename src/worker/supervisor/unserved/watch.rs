//! When the requests of one lane that wait for a worker are due. Pure.

use std::{collections::BTreeSet, time::Duration};

use crate::clock::WallTime;

/// How many requests of one lane are watched: those that are due first. For the sake of the others
/// the lane is read again when the first of them is due.
const WATCHED_MAX: usize = 16_384;

/// How long after it was read to its end a lane is read from its beginning again: in between its
/// requests may have been cancelled, or committed by a worker that was thought dead.
const SWEEP_EVERY: Duration = Duration::from_secs(30);

/// What changes whenever something new lies in a lane: as long as it is the same, nothing does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// How many messages wait.
    pub(super) waiting: u64,
    /// Up to which sequence they were given to workers.
    pub(super) given: u64,
}

/// The requests of one lane, each with the moment at which it is due.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// The highest sequence that was read.
    read: u64,
    /// How the lane stood when it was last read to its end, and when that was.
    ended: Option<(Mark, WallTime)>,
    due: BTreeSet<(WallTime, u64)>,
    /// When the first of those is due for which there was no room.
    beyond: Option<WallTime>,
}

impl Watch {
    /// From which sequence on a lane that stands at `mark` is to be read, if anything is new there.
    pub(super) fn unread(&mut self, mark: Mark, now: WallTime) -> Option<u64> {
        match self.ended {
            Some((_, at)) if now >= at.saturating_add(SWEEP_EVERY) => self.rewind(),
            Some((had, _)) if had == mark => return None,
            Some(_) | None => {}
        }
        Some(self.read.saturating_add(1))
    }

    /// The message `sequence` was read.
    pub(super) const fn read(&mut self, sequence: u64) {
        self.read = sequence;
    }

    /// The lane, which stands at `mark`, was read to its end.
    pub(super) const fn ended(&mut self, mark: Mark, now: WallTime) {
        self.ended = Some((mark, now));
    }

    /// Some messages were removed: their number says no longer whether others have come.
    pub(super) const fn changed(&mut self) {
        self.ended = None;
    }

    /// The message `sequence` is due at `at`.
    pub(super) fn note(&mut self, at: WallTime, sequence: u64) {
        self.due.insert((at, sequence));
        if self.due.len() > WATCHED_MAX
            && let Some((last, _)) = self.due.pop_last()
        {
            self.beyond = Some(self.beyond.map_or(last, |beyond| beyond.min(last)));
        }
    }

    /// What is due at `now`; it is watched no longer.
    pub(super) fn due(&mut self, now: WallTime) -> Vec<u64> {
        if self.beyond.is_some_and(|beyond| beyond <= now) {
            self.rewind();
        }
        let mut due = Vec::new();
        while let Some(&(at, sequence)) = self.due.first()
            && at <= now
        {
            self.due.pop_first();
            due.push(sequence);
        }
        due
    }

    /// How many are watched.
    pub(super) fn len(&self) -> usize {
        self.due.len()
    }

    fn rewind(&mut self) {
        (self.read, self.ended, self.beyond) = (0, None, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> WallTime {
        WallTime::from_unix_millis(second * 1_000)
    }

    fn having(waiting: u64) -> Mark {
        Mark { waiting, given: 0 }
    }

    #[test]
    fn what_is_due_is_told_once_and_in_order() {
        let mut watch = Watch::default();
        for (second, sequence) in [(9, 1), (5, 2), (7, 3), (7, 3)] {
            watch.note(at(second), sequence);
        }
        assert!(watch.due(at(4)).is_empty());
        assert_eq!(watch.due(at(8)), [2, 3]);
        assert_eq!(watch.due(at(9)), [1]);
        assert_eq!(watch.len(), 0);
    }

    #[test]
    fn a_lane_is_read_on_while_it_changes_and_anew_after_a_while() {
        let mut watch = Watch::default();
        assert_eq!(watch.unread(having(2), at(0)), Some(1));
        watch.read(7);
        assert_eq!(watch.unread(having(2), at(0)), Some(8));
        watch.ended(having(2), at(0));
        assert_eq!(watch.unread(having(2), at(1)), None);
        assert_eq!(watch.unread(having(3), at(1)), Some(8));
        watch.changed();
        assert_eq!(watch.unread(having(2), at(1)), Some(8));
        watch.ended(having(2), at(1));
        assert_eq!(watch.unread(having(2), at(31)), Some(1));
    }

    #[test]
    fn beyond_its_bound_it_keeps_what_is_due_first_and_reads_again_for_the_rest() {
        let mut watch = Watch::default();
        let many = WATCHED_MAX as u64 + 2;
        for sequence in (1..=many).rev() {
            watch.note(at(sequence), sequence);
        }
        watch.read(many);
        watch.ended(having(many), at(0));
        assert_eq!(watch.len(), WATCHED_MAX);

        assert_eq!(watch.due(at(many - 2)).len(), WATCHED_MAX);
        assert_eq!(watch.unread(having(many), at(1)), None);
        assert!(watch.due(at(many - 1)).is_empty());
        assert_eq!(watch.unread(having(many), at(1)), Some(1));
    }
}
