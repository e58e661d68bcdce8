//! Who may ask whom for what: `.puruto-ipc.json`, one file a Puruto, owned by the caller.
//!
//! Never: I/O on the path of a request; a policy is in memory when it is asked. What cannot be
//! read or is not there denies.

mod aside;
mod changes;
mod decide;
mod file;
mod finding;
mod live;
mod load;
mod parse;
mod reload;
mod set;

pub(crate) use self::{
    aside::read_aside,
    file::{Unreadable, folders, read_bounded},
    load::load_policy,
};
pub use self::{
    changes::Changes,
    decide::{Denial, Policy},
    finding::{Finding, FindingCode, Level},
    live::LivePolicies,
    load::POLICY_FILE,
    parse::{Checked, POLICY_KEYS},
    reload::{Change, Reloader, watch},
    set::PolicySet,
};
