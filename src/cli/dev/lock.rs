//! One `puruto dev` at a time on a data folder: two servers on the same files would ruin them.

use std::{
    fs::{self, File, TryLockError},
    path::Path,
};

use super::DevFault;

/// Locks `folder`, which is made when missing; dropping the file, or the death of the process,
/// unlocks it.
///
/// # Errors
///
/// [`DevFault::InUse`] when another process has it.
pub(super) fn acquire(folder: &Path) -> Result<File, DevFault> {
    let path = folder.join("lock");
    let opened = fs::create_dir_all(folder).and_then(|()| File::create(&path));
    let file = opened.map_err(|source| DevFault::File {
        path: path.clone(),
        source,
    })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(DevFault::InUse {
            folder: folder.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(DevFault::File { path, source }),
    }
}
