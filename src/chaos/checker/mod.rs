//! Holds a history against the invariants: pure, and the same for the simulation and for real
//! processes.
//!
//! Owns what a violation is. It accuses only of what the history proves: a worker that was killed
//! between an effect and its log line leaves a gap, and a gap is no crime. What one request cannot
//! show (delegation, slots at rest) is not looked at here.

mod faults;
mod figures;
mod liveness;
mod safety;
mod stories;
#[cfg(test)]
mod tests;
mod verdict;

use std::time::Duration;

use self::{faults::Faults, stories::Stories};
pub use self::{
    figures::Figures,
    verdict::{Rule, Verdict, Violation},
};
use super::history::Entry;

/// By which times a history is judged.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// How far apart two clocks of the same moment may be, and how long a process may take from
    /// an effect to its log line.
    pub slack: Duration,
    /// How long after its deadline, or after the last fault, a request may go without its result.
    pub grace: Duration,
    /// How long the effects of a fault linger after its end: sessions and ack waits run out.
    pub linger: Duration,
    /// How many executions may die before a request is given up.
    pub attempts_max: usize,
}

/// What `history`, in order of time, proves.
#[must_use]
pub fn check(history: &[Entry], terms: &Terms) -> Verdict {
    let faults = Faults::of(history);
    let stories = Stories::of(history);
    let mut violations = Vec::new();
    for story in stories.iter() {
        violations.extend(safety::of_request(story, &faults, terms));
        violations.extend(liveness::of_request(story, &stories, &faults, terms));
    }
    violations.extend(liveness::of_run(&stories, history));
    violations.extend(safety::of_run(history));
    Verdict {
        violations,
        figures: Figures::of(&stories, &faults),
    }
}
