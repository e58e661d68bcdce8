//! The policy file of one caller, read from the workers folder.

use std::path::Path;

use super::{
    file::read_bounded,
    finding::{Finding, FindingCode},
    parse::Checked,
};
use crate::contract::PurutoName;

/// The name of a policy file, in the folder of the caller that owns it.
pub const POLICY_FILE: &str = ".puruto-ipc.json";

/// Longest policy file, in bytes.
const POLICY_BYTES_MAX: u64 = 64 * 1024;

/// Reads the policy of `caller` from its folder; `None` when it has none.
///
/// # Errors
/// Every finding when the file cannot be used.
pub(crate) fn load_policy(
    folder: &Path,
    caller: &PurutoName,
) -> Result<Option<Checked>, Vec<Finding>> {
    let file = folder.join(POLICY_FILE);
    match read_bounded(&file, POLICY_BYTES_MAX) {
        Ok(Some(bytes)) => Checked::parse(caller, &file, &bytes).map(Some),
        Ok(None) => Ok(None),
        Err(error) => Err(vec![Finding::whole(
            FindingCode::InvalidIpcConfig,
            &file,
            error,
        )]),
    }
}
