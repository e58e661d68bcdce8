//! A Python that has `nats-py`, pinned and with its hash checked, in a folder of its own.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use puruto_fleet::dev::{find::Places, run::run};

use super::{Missing, folder};
use crate::support::{guard, say};

const TOOL: &str = "Python with nats-py";
/// The version that is pinned.
pub(crate) const NATS_PY: &str = "2.16.0";
/// Of the only wheel there is of it, which runs on any machine.
const SHA256: &str = "aeb1ff123966c05833d26c7df7e1d54c1c6d32b612428b21677a2e921f1fecae";

/// How long the download may take on a slow line.
const INSTALL_WITHIN: Duration = Duration::from_secs(3 * 60);
/// How long a script may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// An interpreter that can `import nats`.
#[derive(Clone, Debug)]
pub(crate) struct Python {
    program: PathBuf,
    packages: PathBuf,
}

impl Python {
    /// A Python with the package on the machine that `places` describes.
    pub(crate) async fn obtain(places: &Places) -> Result<Self, Missing> {
        let missing = |why: String| Missing { tool: TOOL, why };
        let on_path = places.on_path("python3");
        let program = on_path.ok_or_else(|| missing("python3 is not on PATH".to_owned()))?;
        let name = format!("nats-py-{NATS_PY}");
        let fetched = folder::have(places, &name, async |folder| {
            fetch(&program, &places.search_path, folder, &name).await
        });
        let packages = fetched.await.map_err(missing)?;
        Ok(Self { program, packages })
    }

    /// A script that ends with the test, for what goes on by itself such as a subscription.
    pub(crate) fn command(&self, script: &str, arguments: &[&str]) -> Command {
        let mut command = guard().command(&self.program);
        self.prepare(&mut command, script, arguments);
        command
    }

    /// What the script prints when it succeeds; else why not.
    pub(crate) async fn run(&self, script: &str, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(&self.program);
        self.prepare(&mut command, script, arguments);
        run(command.into(), ANSWER_WITHIN).await
    }

    /// Whatever else the user's Python has, `nats` is ours.
    fn prepare(&self, command: &mut Command, script: &str, arguments: &[&str]) {
        command
            .env("PYTHONPATH", &self.packages)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PYTHONUNBUFFERED", "1")
            .args(["-c", script])
            .args(arguments);
    }
}

async fn fetch(
    python: &Path,
    search_path: &OsString,
    folder: &Path,
    name: &str,
) -> Result<(), String> {
    say(&format!(
        "fetching nats-py {NATS_PY} from Python's package index"
    ));
    let wanted = folder.join("requirements.txt");
    let line = format!("nats-py=={NATS_PY} --hash=sha256:{SHA256}\n");
    std::fs::write(&wanted, line).map_err(|error| format!("{}: {error}", wanted.display()))?;
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet"])
        .args(["--disable-pip-version-check", "--no-deps"])
        .args(["--only-binary", ":all:", "--require-hashes"])
        .arg("--requirement")
        .arg(&wanted)
        .arg("--target")
        .arg(folder.join(name))
        .env("PATH", search_path)
        .env("PIP_ROOT_USER_ACTION", "ignore");
    run(pip.into(), INSTALL_WITHIN).await?;
    Ok(())
}
