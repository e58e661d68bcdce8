//! A folder that goes away with the demo.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use crate::clock::Chance;

/// The folder; dropping it removes it and everything in it, unless it is kept.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    kept: bool,
}

impl Scratch {
    /// An empty folder where the system has its temporary ones.
    pub(super) fn new(chance: &Chance) -> io::Result<Self> {
        let name = format!("puruto-demo-{:016x}", chance.bits128() >> 64);
        let path = env::temp_dir().join(name);
        fs::create_dir(&path)?;
        Ok(Self { path, kept: false })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// It stays, for somebody to look into.
    pub(super) const fn keep(&mut self) {
        self.kept = true;
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.kept
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            tracing::warn!(%error, path = %self.path.display(), "folder could not be removed");
        }
    }
}
