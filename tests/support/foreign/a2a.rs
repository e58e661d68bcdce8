//! `a2a-sdk`: the Python SDK of the Agent2Agent protocol, to ask agents with.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use puruto_fleet::dev::{
    find::Places,
    install::{self, Packages},
    run::run,
};
use tokio::process::Command;

use super::{Missing, unpacked};
use crate::support::say;

const TOOL: &str = "Python with a2a-sdk";
const PACKAGES: Packages = Packages {
    folder: "a2a-sdk-1.3.0",
    size: "10 MB once",
    requirements: include_str!("a2a.txt"),
};

/// How long a script may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(3 * 60);

/// A Python that can `import a2a`.
#[derive(Clone, Debug)]
pub(crate) struct PythonWithA2a {
    program: PathBuf,
    packages: PathBuf,
}

impl PythonWithA2a {
    /// The same on the machine that `places` describes, which is fetched first where it is not there.
    pub(crate) async fn obtain(places: &Places) -> Result<Self, Missing> {
        let missing = |why: String| Missing { tool: TOOL, why };
        let program = places.on_path("python3");
        let program = program.ok_or_else(|| missing("python3 is not on PATH".to_owned()))?;
        let packages = install::packages(&PACKAGES, places, &say).await;
        let packages = packages.map_err(|error| missing(unpacked(error)))?;
        Ok(Self { program, packages })
    }

    /// What `script` prints when it succeeds; else why not.
    pub(crate) async fn run(&self, script: &Path, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(&self.program);
        command
            .arg(script)
            .args(arguments)
            .env("PYTHONPATH", &self.packages)
            .env("PYTHONDONTWRITEBYTECODE", "1");
        run(command, ANSWER_WITHIN).await
    }
}
