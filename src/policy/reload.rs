//! Keeps the policies as the files say, without a restart.
//!
//! Every look compares all files with what holds, so that it does not matter what made it look.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::sync::watch as channel;

use super::{
    aside::read_aside,
    changes::Changes,
    finding::Finding,
    live::LivePolicies,
    set::{OnDisk, PolicySet, read_policies},
};
use crate::contract::PurutoName;

/// What a look at the files changed.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The caller's new policy holds.
    Loaded {
        /// Whose policy it is.
        caller: PurutoName,
        /// What its author should look at nevertheless.
        warnings: Vec<Finding>,
    },
    /// The caller's file is gone: it may call nobody now.
    Removed {
        /// Whose policy it was.
        caller: PurutoName,
    },
    /// The caller's new file is broken: its old policy holds on, or none if it had none.
    Kept {
        /// Whose policy it is.
        caller: PurutoName,
        /// What is wrong with the new file.
        findings: Vec<Finding>,
    },
}

/// The policies in `workers_dir`, beginning with `start`, and what keeps them current while it
/// runs.
#[must_use]
pub fn watch(workers_dir: &Path, start: PolicySet) -> (LivePolicies, Reloader) {
    let (sender, live) = LivePolicies::changeable(start);
    let reloader = Reloader {
        workers_dir: workers_dir.to_owned(),
        sender,
        reported: BTreeMap::new(),
        unreadable: None,
    };
    (live, reloader)
}

/// Keeps [`LivePolicies`] as the files say, for as long as [`Reloader::run`] runs.
#[derive(Debug)]
pub struct Reloader {
    workers_dir: PathBuf,
    sender: channel::Sender<Arc<PolicySet>>,
    /// The findings that were told of each broken file, so that each is told once.
    reported: BTreeMap<PurutoName, Vec<Finding>>,
    /// Why the workers folder could not be read at the last look.
    unreadable: Option<Finding>,
}

impl Reloader {
    /// Looks at the files whenever they change and tells `report` what came of it. Runs until it
    /// is dropped.
    pub async fn run(mut self, report: impl Fn(&Change) + Send) {
        let changes = Changes::in_tree(&self.workers_dir);
        loop {
            self.look(&report).await;
            changes.next().await;
        }
    }

    async fn look(&mut self, report: &impl Fn(&Change)) {
        let dir = self.workers_dir.clone();
        let Some(read) = read_aside(move || read_policies(&dir)).await else {
            return;
        };
        match read {
            Ok(on_disk) => {
                self.unreadable = None;
                for change in self.apply(on_disk) {
                    tell(&change);
                    report(&change);
                }
            }
            // A folder that cannot be read says nothing about the policies in it: all hold on.
            Err(finding) if self.unreadable.as_ref() != Some(&finding) => {
                tracing::error!(%finding, "policies stay as they are");
                self.unreadable = Some(finding);
            }
            Err(_) => {}
        }
    }

    fn apply(&mut self, on_disk: OnDisk) -> Vec<Change> {
        let old = Arc::clone(&self.sender.borrow());
        let (new, changes) = compare(&old, on_disk, &mut self.reported);
        if new != *old {
            self.sender.send_replace(Arc::new(new));
        }
        changes
    }
}

/// What holds after a look that found `on_disk`, and what that changes.
fn compare(
    old: &PolicySet,
    on_disk: OnDisk,
    reported: &mut BTreeMap<PurutoName, Vec<Finding>>,
) -> (PolicySet, Vec<Change>) {
    let mut new = old.clone();
    let mut changes = Vec::new();
    for caller in old.callers() {
        if !on_disk.iter().any(|(there, _)| there == caller) {
            new.remove(caller);
            reported.remove(caller);
            let caller = caller.clone();
            changes.push(Change::Removed { caller });
        }
    }
    for (caller, read) in on_disk {
        match read {
            Ok(checked) => {
                let mended = reported.remove(&caller).is_some();
                if mended || old.get(&caller) != Some(&checked.policy) {
                    let warnings = checked.warnings;
                    new.insert(checked.policy);
                    changes.push(Change::Loaded { caller, warnings });
                }
            }
            Err(findings) => {
                new.mark_broken(caller.clone());
                let told = reported.insert(caller.clone(), findings.clone());
                if told.as_ref() != Some(&findings) {
                    changes.push(Change::Kept { caller, findings });
                }
            }
        }
    }
    (new, changes)
}

fn tell(change: &Change) {
    match change {
        Change::Loaded { caller, warnings } => {
            tracing::info!(%caller, "policy loaded");
            for finding in warnings {
                tracing::warn!(%caller, %finding, "policy has a weak point");
            }
        }
        Change::Removed { caller } => {
            tracing::warn!(%caller, "policy file is gone, the caller may call nobody");
        }
        Change::Kept { caller, findings } => {
            for finding in findings {
                tracing::error!(%caller, %finding, "new policy file is not used");
            }
        }
    }
}

#[cfg(test)]
#[path = "reload_tests.rs"]
mod tests;
