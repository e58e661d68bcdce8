//! The policies of all callers, as one value.

use std::{collections::HashMap, path::Path, time::Duration};

use super::{
    decide::{Denial, Policy},
    file::folders,
    finding::{Finding, FindingCode},
    load::load_policy,
    parse::Checked,
};
use crate::contract::{ActionName, DEFAULT_TIMEOUT, Hop, PurutoName};

/// The policies of all callers; one that is not in it may call nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicySet(HashMap<PurutoName, Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Usable(Policy),
    /// A file is there, yet it never held a usable policy: told apart from a missing file, so
    /// that the denial says the right thing.
    Broken,
}

impl PolicySet {
    /// Reads the policy of every folder in `workers_dir`, and everything that is wrong with them.
    #[must_use]
    pub fn load(workers_dir: &Path) -> (Self, Vec<Finding>) {
        let mut set = Self::default();
        let mut findings = Vec::new();
        match read_policies(workers_dir) {
            Ok(on_disk) => {
                for (caller, read) in on_disk {
                    match read {
                        Ok(checked) => {
                            findings.extend(checked.warnings);
                            set.insert(checked.policy);
                        }
                        Err(errors) => {
                            findings.extend(errors);
                            set.mark_broken(caller);
                        }
                    }
                }
            }
            Err(finding) => findings.push(finding),
        }
        (set, findings)
    }

    /// Decides one request by the policy of its caller.
    ///
    /// # Errors
    /// Why it is refused, naming file and key.
    pub fn decide(
        &self,
        caller: &PurutoName,
        target: &PurutoName,
        action: &ActionName,
        hop: Hop,
    ) -> Result<(), Denial> {
        match self.0.get(caller) {
            Some(Entry::Usable(policy)) => policy.decide(target, action, hop),
            Some(Entry::Broken) => Err(Denial::Broken {
                caller: caller.clone(),
            }),
            None => Err(Denial::NoPolicy {
                caller: caller.clone(),
            }),
        }
    }

    /// How long a request of `caller` may take when it does not say so itself.
    #[must_use]
    pub fn default_timeout(&self, caller: &PurutoName) -> Duration {
        self.get(caller)
            .map_or(DEFAULT_TIMEOUT, Policy::default_timeout)
    }

    /// The policy of `caller`.
    #[must_use]
    pub fn get(&self, caller: &PurutoName) -> Option<&Policy> {
        match self.0.get(caller)? {
            Entry::Usable(policy) => Some(policy),
            Entry::Broken => None,
        }
    }

    /// Every caller of whom a file is known, usable or not.
    pub(super) fn callers(&self) -> impl Iterator<Item = &PurutoName> {
        self.0.keys()
    }

    pub(super) fn insert(&mut self, policy: Policy) {
        self.0
            .insert(policy.caller().clone(), Entry::Usable(policy));
    }

    /// Notes that the caller's file cannot be used; a usable policy that is held stays.
    pub(super) fn mark_broken(&mut self, caller: PurutoName) {
        self.0.entry(caller).or_insert(Entry::Broken);
    }

    pub(super) fn remove(&mut self, caller: &PurutoName) {
        self.0.remove(caller);
    }
}

impl FromIterator<Policy> for PolicySet {
    fn from_iter<I: IntoIterator<Item = Policy>>(policies: I) -> Self {
        let mut set = Self::default();
        policies.into_iter().for_each(|policy| set.insert(policy));
        set
    }
}

/// What a look at the workers folder found: each policy file there is, by its caller.
pub(super) type OnDisk = Vec<(PurutoName, Result<Checked, Vec<Finding>>)>;

/// Reads every policy file in `workers_dir`. Folders that name no Puruto have no caller.
///
/// # Errors
/// The finding that `workers_dir` itself cannot be read.
pub(super) fn read_policies(workers_dir: &Path) -> Result<OnDisk, Finding> {
    let unreadable = |error| {
        let message = format!("cannot be read: {error}");
        Finding::whole(FindingCode::InvalidPurutoFolder, workers_dir, message)
    };
    let named = |folder: &Path| folder.file_name()?.to_str()?.parse::<PurutoName>().ok();
    Ok(folders(workers_dir)
        .map_err(unreadable)?
        .iter()
        .filter_map(|folder| {
            let caller = named(folder)?;
            let read = load_policy(folder, &caller).transpose()?;
            Some((caller, read))
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::policy::POLICY_FILE;

    fn name(raw: &str) -> PurutoName {
        raw.parse().expect("a name")
    }

    fn ask(set: &PolicySet, caller: &str) -> Result<(), Denial> {
        let action = "pay".parse().expect("an action");
        set.decide(&name(caller), &name("bank"), &action, Hop::default())
    }

    #[test]
    fn each_caller_is_judged_by_its_own_file_and_none_means_no() {
        let dir = tempfile::tempdir().expect("a folder");
        let write = |caller: &str, text: &str| {
            let folder = dir.path().join(caller);
            fs::create_dir(&folder).expect("made");
            fs::write(folder.join(POLICY_FILE), text).expect("written");
        };
        write(
            "rich",
            r#"{"allowed_targets":["bank"],"default_timeout_sec":7}"#,
        );
        write("poor", r#"{"allowed_targets":[]}"#);
        write("odd", "{");
        fs::create_dir(dir.path().join("mute")).expect("made");

        let (set, findings) = PolicySet::load(dir.path());

        assert_eq!(ask(&set, "rich"), Ok(()));
        assert!(matches!(ask(&set, "poor"), Err(Denial::Target { .. })));
        assert!(matches!(ask(&set, "odd"), Err(Denial::Broken { .. })));
        assert!(matches!(ask(&set, "mute"), Err(Denial::NoPolicy { .. })));
        assert!(matches!(ask(&set, "gone"), Err(Denial::NoPolicy { .. })));
        assert_eq!(set.default_timeout(&name("rich")), Duration::from_secs(7));
        assert_eq!(set.default_timeout(&name("gone")), DEFAULT_TIMEOUT);
        assert_eq!(findings.iter().filter(|it| it.is_error()).count(), 1);
    }

    #[test]
    fn a_workers_folder_that_is_not_there_is_a_finding() {
        let (set, findings) = PolicySet::load(Path::new("/nowhere/workers"));
        assert_eq!(set, PolicySet::default());
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].path, "/nowhere/workers");
    }
}
