//! The `puruto` program in a folder of its own, run to its end or left running.

use std::{
    fs::{self, File},
    path::Path,
    process::{ExitStatus, Stdio},
};

use puruto_fleet::dev::{self, tool::Tool};
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::{
    process::{Child, Command},
    time::timeout,
};

use crate::{
    processes::{PATIENCE, send, until},
    support,
};

/// The Purutos that ship.
pub(crate) const WORKERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/workers");

/// A running program; dropping it kills it.
pub(crate) struct Program {
    child: Child,
    folder: TempDir,
}

/// How a program ended, and what it said.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) said: String,
}

impl Program {
    pub(crate) async fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[]).await
    }

    /// Starts it with these variables in its environment.
    pub(crate) async fn start_with(arguments: &[&str], variables: &[(&str, &Path)]) -> Self {
        let folder = TempDir::new().expect("a folder");
        let said = File::create(folder.path().join("said")).expect("a file");
        let child = Command::new(env!("CARGO_BIN_EXE_puruto"))
            .args(arguments)
            .current_dir(folder.path())
            .env(Tool::Nats.variable(), found(Tool::Nats).await)
            .env(Tool::Redis.variable(), found(Tool::Redis).await)
            .env_remove("NATS_URL")
            .env_remove("REDIS_URL")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(said.try_clone().expect("the same file"))
            .stderr(said)
            .kill_on_drop(true)
            .spawn();
        Self {
            child: child.expect("a process"),
            folder,
        }
    }

    /// Runs it to its end.
    pub(crate) async fn run(arguments: &[&str]) -> Ended {
        Self::start(arguments).await.ended().await
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it has said so far.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.folder().join("said")).expect("its output")
    }

    /// Waits until it has said `words`.
    pub(crate) async fn says(&self, words: &str) {
        until(words, || self.said().contains(words)).await;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    pub(crate) async fn ended(mut self) -> Ended {
        let code = self.status().await.code();
        Ended {
            code,
            said: self.said(),
        }
    }

    async fn status(&mut self) -> ExitStatus {
        let ended = timeout(PATIENCE, self.child.wait()).await;
        assert!(ended.is_ok(), "it does not end:\n{}", self.said());
        ended.expect("in time").expect("a status")
    }
}

async fn found(tool: Tool) -> std::path::PathBuf {
    let found = dev::obtain(tool, &support::places(), &|_: &str| {}).await;
    let program = found.expect("a program").program;
    program.canonicalize().expect("a file")
}
