//! How often a server has been called for one request, so that nobody starts to count anew.
//!
//! A request that is handed over in the middle of its retries goes on where it was: the count
//! travels with it as a short text. Never: a decision; the retry policy makes that.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use super::retry::Attempt;

/// Most counts that one request keeps: one for each route, and as many for repairs.
pub const COUNTS_MAX: usize = 16;

/// The counts of one request. Clones share them.
#[derive(Clone, Default)]
pub struct CallsMade(Arc<[AtomicU8; COUNTS_MAX]>);

/// One of these counts: calls of the same question to the same server. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct CallCount {
    made: CallsMade,
    at: usize,
}

impl CallsMade {
    /// The counts that [`CallsMade`] printed, wherever that was. What is no count counts as
    /// nothing, so that a record of another version costs calls and not the request.
    #[must_use]
    pub fn recorded(text: &str) -> Self {
        let made = Self::default();
        for (count, recorded) in made.0.iter().zip(text.split(',')) {
            count.store(recorded.parse().unwrap_or(0), Ordering::Relaxed);
        }
        made
    }

    /// The count number `at`, from 0; those beyond [`COUNTS_MAX`] share the last one.
    #[must_use]
    pub fn count(&self, at: usize) -> CallCount {
        CallCount {
            made: self.clone(),
            at: at.min(COUNTS_MAX - 1),
        }
    }

    /// All of them together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.numbers().map(u64::from).sum()
    }

    fn numbers(&self) -> impl DoubleEndedIterator<Item = u8> + ExactSizeIterator {
        self.0.iter().map(|count| count.load(Ordering::Relaxed))
    }
}

impl fmt::Display for CallsMade {
    /// The counts, separated by commas, without the zeros at the end; nothing where all are zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.numbers().rposition(|made| made > 0);
        for (at, made) in self.numbers().take(used.map_or(0, |at| at + 1)).enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{made}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for CallsMade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallsMade({self})")
    }
}

impl CallCount {
    /// The count that stands `places` behind this one, of the same request.
    #[must_use]
    pub fn further(&self, places: usize) -> Self {
        self.made.count(self.at.saturating_add(places))
    }

    /// The attempt that comes next.
    #[must_use]
    pub fn next(&self) -> Attempt {
        let count = self.made.0.get(self.at);
        Attempt::nth(count.map_or(0, |count| count.load(Ordering::Relaxed)))
    }

    /// A server is about to be called.
    pub fn add(&self) {
        if let Some(count) = self.made.0.get(self.at) {
            // One call at a time counts here; it stops before it would start again from 0.
            let made = count.load(Ordering::Relaxed);
            count.store(made.saturating_add(1), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_travel_as_a_short_text() {
        let made = CallsMade::default();
        assert_eq!(made.to_string(), "");
        made.count(0).add();
        made.count(2).add();
        made.count(2).add();
        assert_eq!(made.to_string(), "1,0,2");
        let there = CallsMade::recorded(&made.to_string());
        assert_eq!(there.count(2).next(), Attempt::nth(2));
        assert_eq!(there.count(1).next(), Attempt::FIRST);
        assert_eq!(there.count(0).further(2).next(), Attempt::nth(2));
        there.count(1).add();
        assert_eq!(there.to_string(), "1,1,2");
    }

    #[test]
    fn a_record_of_another_version_counts_as_nothing() {
        for text in ["", "x", "999", ",,,", &"1,".repeat(99)] {
            let made = CallsMade::recorded(text);
            assert!(made.to_string().len() < 64, "{text}");
        }
        assert_eq!(CallsMade::recorded("1,x,2").to_string(), "1,0,2");
    }

    #[test]
    fn a_count_ends_at_the_most_it_can_hold() {
        let count = CallsMade::recorded("255").count(0);
        count.add();
        assert_eq!(count.next(), Attempt::nth(255));
        CallsMade::default().count(99).add();
    }
}
