//! All Purutos of a workers folder.

use std::{collections::BTreeMap, path::Path};

use super::{Puruto, folder};
use crate::{
    contract::PurutoName,
    policy::{Finding, FindingCode, PolicySet, folders},
};

/// All Purutos of a workers folder, none of them with an error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fleet {
    purutos: BTreeMap<PurutoName, Puruto>,
    warnings: Vec<Finding>,
}

impl Fleet {
    /// Reads every folder in `workers_dir`.
    ///
    /// # Errors
    /// Every finding of every folder, warnings among them, when at least one is an error.
    pub fn load(workers_dir: &Path) -> Result<Self, Vec<Finding>> {
        let (purutos, findings) = read(workers_dir);
        if findings.iter().any(Finding::is_error) {
            return Err(findings);
        }
        let named = purutos.into_iter().map(|it| (it.name.clone(), it));
        Ok(Self {
            purutos: named.collect(),
            warnings: findings,
        })
    }

    /// The Puruto of this name.
    #[must_use]
    pub fn get(&self, name: &PurutoName) -> Option<&Puruto> {
        self.purutos.get(name)
    }

    /// All Purutos, sorted by name.
    pub fn purutos(&self) -> impl Iterator<Item = &Puruto> {
        self.purutos.values()
    }

    /// Those that serve requests, sorted by name.
    pub fn targets(&self) -> impl Iterator<Item = &Puruto> {
        self.purutos().filter(|it| it.worker.is_some())
    }

    /// Whom each of them may call.
    #[must_use]
    pub fn policies(&self) -> PolicySet {
        let policies = self.purutos().filter_map(|it| it.policy.clone());
        policies.collect()
    }

    /// What the folders' authors should look at nevertheless.
    #[must_use]
    pub fn warnings(&self) -> &[Finding] {
        &self.warnings
    }
}

/// Everything that is wrong with the folders in `workers_dir`, in the order of their names.
#[must_use]
pub fn check(workers_dir: &Path) -> Vec<Finding> {
    read(workers_dir).1
}

fn read(workers_dir: &Path) -> (Vec<Puruto>, Vec<Finding>) {
    let found = match folders(workers_dir) {
        Ok(found) => found,
        Err(error) => {
            let why = format!("cannot be read: {error}");
            let code = FindingCode::InvalidPurutoFolder;
            return (Vec::new(), vec![Finding::whole(code, workers_dir, why)]);
        }
    };
    let mut purutos = Vec::new();
    let mut findings = Vec::new();
    for folder in &found {
        let (puruto, mistakes) = folder::read(folder);
        purutos.extend(puruto);
        findings.extend(mistakes);
    }
    (purutos, findings)
}

#[cfg(test)]
#[path = "fleet_tests.rs"]
mod tests;
