//! Crash points: where a process can be made to die, for whoever wants to see what is left of a
//! request then.
//!
//! Off unless `CRASH_AT` names one. Never part of a decision.

use std::str::FromStr;

/// The environment variable that names such a place.
pub const CRASH_AT: &str = "CRASH_AT";

/// With what a process ends that was made to die.
pub const CRASH_EXIT_CODE: u8 = 92;

/// A place at which a process can be made to die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPoint {
    /// A decision to report is accepted and not carried out.
    AfterPlan,
    /// A report is made and not written.
    InsideReport,
    /// A report is written; the result is not.
    AfterCommit,
    /// A request waits; none of its children is published.
    AfterPark,
    /// One of several children is published.
    AmidChildren,
    /// All children are published; the claim is still held.
    BeforeLetGo,
    /// A child's result is committed and not published.
    AfterChildCommit,
    /// A child's result is published; its parent does not know.
    BeforeWake,
    /// The parent's record knows; its message was not given back.
    AfterWake,
    /// A woken parent is claimed and has not gone on.
    AfterResume,
}

const NAMES: [(&str, CrashPoint); 10] = [
    ("after_plan", CrashPoint::AfterPlan),
    ("inside_report", CrashPoint::InsideReport),
    ("after_commit", CrashPoint::AfterCommit),
    ("after_park", CrashPoint::AfterPark),
    ("amid_children", CrashPoint::AmidChildren),
    ("before_let_go", CrashPoint::BeforeLetGo),
    ("after_child_commit", CrashPoint::AfterChildCommit),
    ("before_wake", CrashPoint::BeforeWake),
    ("after_wake", CrashPoint::AfterWake),
    ("after_resume", CrashPoint::AfterResume),
];

impl FromStr for CrashPoint {
    type Err = String;

    fn from_str(raw: &str) -> Result<Self, String> {
        let found = NAMES.iter().find(|(name, _)| *name == raw);
        found.map(|(_, point)| *point).ok_or_else(|| {
            let names = NAMES.map(|(name, _)| name).join(", ");
            format!("CRASH_AT is {raw:?}; it can be one of {names}")
        })
    }
}

/// Where this process is to die, if anywhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct CrashAt(Option<CrashPoint>);

impl CrashAt {
    /// There; nowhere where `None`.
    #[must_use]
    pub const fn new(point: Option<CrashPoint>) -> Self {
        Self(point)
    }

    /// Ends the process at once, as a kill would, if this is where it is to die.
    pub fn reached(self, point: CrashPoint) {
        if self.0 == Some(point) {
            tracing::error!(?point, "dying here, as CRASH_AT says");
            std::process::exit(i32::from(CRASH_EXIT_CODE));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_known_by_its_name_and_another_name_is_told_all_of_them() {
        for (name, point) in NAMES {
            assert_eq!(name.parse(), Ok(point));
        }
        let refused = "after_lunch".parse::<CrashPoint>().unwrap_err();
        assert!(refused.contains("\"after_lunch\"") && refused.contains("inside_report"));
    }
}
