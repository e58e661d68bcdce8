//! Holds a history against the invariants: pure, and the same for the simulation and for real
//! processes.
//!
//! Owns what a violation is. It accuses only of what the history proves: a worker that was killed
//! between an effect and its log line leaves a gap, and a gap is no crime.

mod bounds;
mod delegated;
mod faults;
mod figures;
mod kinship;
mod liveness;
mod safety;
mod stories;
#[cfg(test)]
mod tests;
mod verdict;
mod waking;

use std::time::Duration;

pub use self::{
    delegated::DelegationFigures,
    figures::Figures,
    verdict::{Rule, Verdict, Violation},
};
use self::{faults::Faults, kinship::Kinship, stories::Stories, waking::View};
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
    /// How soon a parent goes on once enough of its children have ended, while nothing is in the
    /// way.
    pub wakes_within: Duration,
    /// How soon a delegated request ends once nobody wants it any more, while nothing is in the
    /// way.
    pub ends_within: Duration,
    /// How much there may be below a caller's request.
    pub bounds: Bounds,
}

/// How much there may be below a caller's request.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Children of one delegation.
    pub children: usize,
    /// Requests on all levels.
    pub descendants: usize,
    /// Levels.
    pub depth: usize,
    /// The length of all their messages together.
    pub bytes: u64,
}

/// What `history`, in order of time, proves.
#[must_use]
pub fn check(history: &[Entry], terms: &Terms) -> Verdict {
    let faults = Faults::of(history);
    let stories = Stories::of(history);
    let kinship = Kinship::of(history);
    let view = View {
        stories: &stories,
        kinship: &kinship,
        faults: &faults,
        terms,
    };
    let mut violations = Vec::new();
    for story in stories.iter() {
        violations.extend(safety::of_request(story, view));
        violations.extend(liveness::of_request(story, view));
        violations.extend(bounds::of_request(story, view));
        violations.extend(waking::of_request(story, view));
    }
    violations.extend(liveness::of_run(&stories, history));
    violations.extend(safety::of_run(history));
    violations.extend(bounds::of_run(history));
    Verdict {
        violations,
        figures: Figures::of(history, view),
    }
}
