//! Who asks, and by which policy that is decided.

use std::{fs, io, path::Path};

use serde_json::Value;

use super::failure::Failure;
use crate::{
    config::Config,
    contract::PurutoName,
    policy::{Checked, Finding, POLICY_FILE, PolicySet},
};

/// Longest policy file that is read, in bytes.
const POLICY_BYTES_MAX: usize = 64 * 1024;

/// A caller, with the policies by which it is decided what it may.
#[derive(Debug)]
pub(super) struct Asker {
    pub(super) caller: PurutoName,
    pub(super) policies: PolicySet,
}

/// The caller: the one named, else the owner of the policy file in the working folder, else the
/// configured one. The owner's policy is that file, everybody else's stands in the workers folder.
pub(super) fn asker(
    named: Option<PurutoName>,
    folder: &Path,
    config: &Config,
) -> Result<Asker, Failure> {
    let path = folder.join(POLICY_FILE);
    let here = read(&path)?;
    let owner = here.as_deref().and_then(owner_of);
    let caller = named.or_else(|| owner.clone());
    let caller = caller.unwrap_or_else(|| config.client.caller.clone());
    let policies = match here {
        Some(bytes) if owner.as_ref() == Some(&caller) => {
            let checked = Checked::parse(&caller, &path, &bytes);
            let checked = checked.map_err(|findings| unusable(&findings))?;
            [checked.policy].into_iter().collect()
        }
        Some(_) | None => PolicySet::load(&config.worker.workers_dir).0,
    };
    Ok(Asker { caller, policies })
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match fs::read(path) {
        Ok(bytes) if bytes.len() <= POLICY_BYTES_MAX => Ok(Some(bytes)),
        Ok(bytes) => Err(Failure::Usage(format!(
            "{}: {} bytes; a policy has at most {POLICY_BYTES_MAX}",
            path.display(),
            bytes.len()
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::Usage(format!("{}: {error}", path.display()))),
    }
}

fn owner_of(bytes: &[u8]) -> Option<PurutoName> {
    let policy: Value = serde_json::from_slice(bytes).ok()?;
    policy.get("owner")?.as_str()?.parse().ok()
}

fn unusable(findings: &[Finding]) -> Failure {
    let lines: Vec<_> = findings.iter().map(ToString::to_string).collect();
    Failure::Usage(lines.join("\n"))
}
