//! Crash points: where a process can be made to die, for whoever wants to see what is left of a
//! request then.
//!
//! Off unless `CRASH_AT` names one. Never part of a decision.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The environment variable that names such a place.
pub const CRASH_AT: &str = "CRASH_AT";

/// With what a process ends that was made to die.
pub const CRASH_EXIT_CODE: u8 = 92;

/// A place at which a process can be made to die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

impl CrashPoint {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::AfterPlan,
        Self::InsideReport,
        Self::AfterCommit,
        Self::AfterPark,
        Self::AmidChildren,
        Self::BeforeLetGo,
        Self::AfterChildCommit,
        Self::BeforeWake,
        Self::AfterWake,
        Self::AfterResume,
    ];

    /// As `CRASH_AT` has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AfterPlan => "after_plan",
            Self::InsideReport => "inside_report",
            Self::AfterCommit => "after_commit",
            Self::AfterPark => "after_park",
            Self::AmidChildren => "amid_children",
            Self::BeforeLetGo => "before_let_go",
            Self::AfterChildCommit => "after_child_commit",
            Self::BeforeWake => "before_wake",
            Self::AfterWake => "after_wake",
            Self::AfterResume => "after_resume",
        }
    }
}

impl FromStr for CrashPoint {
    type Err = String;

    fn from_str(raw: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|it| it.name() == raw);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
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
        for point in CrashPoint::ALL {
            let name = point.name();
            assert_eq!(name.parse(), Ok(point));
            assert_eq!(serde_json::to_value(point).unwrap(), name);
        }
        let refused = "after_lunch".parse::<CrashPoint>().unwrap_err();
        assert!(refused.contains("\"after_lunch\"") && refused.contains("inside_report"));
    }
}
