//! One installer at a time in a tool folder, across processes.

use std::{
    fs::{File, TryLockError},
    path::Path,
    time::Duration,
};

use tokio::time::{Instant, sleep};

use super::super::{error::DevError, say::Say};

/// How long to wait for another installer: longer than the slowest source takes.
const FREE_WITHIN: Duration = Duration::from_secs(15 * 60);
/// How often to look.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Locks `folder`; dropping the file, or the death of the process, unlocks it.
///
/// # Errors
///
/// [`DevError::Locked`] when another holds it for too long; [`DevError::File`] when the lock's file
/// cannot be had.
pub async fn acquire(folder: &Path, say: &dyn Say) -> Result<File, DevError> {
    let path = folder.join("lock");
    let file = File::create(&path).map_err(DevError::file(&path))?;
    let deadline = Instant::now() + FREE_WITHIN;
    let mut told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(DevError::file(path)(error)),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                let within = FREE_WITHIN;
                return Err(DevError::Locked { path, within });
            }
            Err(TryLockError::WouldBlock) => {}
        }
        if !told {
            say.say("waiting for another process that is installing");
            told = true;
        }
        sleep(LOOK_EVERY).await;
    }
}
