//! A machine made of shell scripts: its PATH, its tool folder, and what was said.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

use puruto_fleet::dev::{find::Places, say::Say};
use tempfile::TempDir;

/// A machine on which only the fakes put there exist.
pub(crate) struct Machine {
    folder: TempDir,
    said: Mutex<Vec<String>>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        for name in ["bin", "tools", "own"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let said = Mutex::default();
        Self { folder, said }
    }

    pub(crate) fn places(&self) -> Places {
        Places {
            nats_server: None,
            redis_server: None,
            search_path: OsString::from(self.folder("bin")),
            tool_folder: self.folder("tools"),
        }
    }

    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A script on PATH.
    pub(crate) fn on_path(&self, name: &str, body: &str) -> PathBuf {
        script(&self.folder("bin").join(name), body)
    }

    /// A script in the tool folder.
    pub(crate) fn in_tools(&self, name: &str, body: &str) -> PathBuf {
        script(&self.folder("tools").join(name), body)
    }

    /// A script where a user keeps programs of their own.
    pub(crate) fn own(&self, name: &str, body: &str) -> PathBuf {
        script(&self.folder("own").join(name), body)
    }

    /// Everything that was said, a line each.
    pub(crate) fn said(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.join("\n")
    }
}

impl Say for Machine {
    fn say(&self, line: &str) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.push(line.to_owned());
    }
}

/// The body of a script that prints what `nats-server --version` does.
pub(crate) fn nats(version: &str) -> String {
    format!("echo 'nats-server: v{version}'")
}

/// Writes the script by another process: a file that this one has open for writing, or has lent
/// to a child it is forking at the moment, cannot be run.
fn script(path: &Path, body: &str) -> PathBuf {
    let written = Command::new("/bin/sh")
        .args([
            "-c",
            r#"printf '#!/bin/sh\n%s\n' "$2" >"$1"; chmod +x "$1""#,
        ])
        .arg("sh")
        .arg(path)
        .arg(body)
        .status();
    assert!(written.expect("a shell").success());
    path.to_owned()
}
