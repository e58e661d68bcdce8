//! `promtool`, which judges rules, their tests and configurations of Prometheus: named by the user, on
//! PATH, or unpacked from Debian's package, whose service is never installed.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use puruto_fleet::dev::{find::Places, run::run, tool::Version};

use super::{Missing, folder};
use crate::support::say;

const TOOL: &str = "promtool";
/// Names a program of the user's own.
pub(super) const VARIABLE: &str = "PURUTO_PROMTOOL";
/// Debian's package, and the program in it.
const PACKAGE: &str = "prometheus";
const PROGRAM: &str = "usr/bin/promtool";
/// Gives names to tests of rules.
const OLDEST: Version = Version::new(2, 42, 0);

/// How long each step of the download may take on a slow line.
const STEP_WITHIN: Duration = Duration::from_secs(3 * 60);
/// How long one judgement may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(2 * 60);

/// The program.
#[derive(Clone, Debug)]
pub(crate) struct Promtool(PathBuf);

impl Promtool {
    /// The one on the machine that `places` describes: `named`, on PATH, or unpacked now.
    pub(crate) async fn obtain(places: &Places, named: Option<PathBuf>) -> Result<Self, Missing> {
        for program in named.into_iter().chain(places.on_path(TOOL)) {
            match check(&program).await {
                Ok(()) => return Ok(Self(program)),
                Err(why) => say(&format!("passing over {}: {why}", program.display())),
            }
        }
        let unpacked = folder::have(places, TOOL, async |folder| unpack(places, folder).await);
        let program = unpacked.await.map_err(|why| Missing {
            tool: TOOL,
            why: format!(
                "{why}; install Debian's package {PACKAGE}, or name the program in {VARIABLE}"
            ),
        })?;
        Ok(Self(program))
    }

    /// What it prints when it finds nothing wrong in `folder`; else what it found.
    pub(crate) async fn run(&self, folder: &Path, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(&self.0);
        command.args(arguments).current_dir(folder);
        run(command.into(), ANSWER_WITHIN).await
    }
}

async fn check(program: &Path) -> Result<(), String> {
    let mut command = Command::new(program);
    command.arg("--version");
    let printed = run(command.into(), ANSWER_WITHIN).await?;
    match Version::find_in(&printed) {
        Some(version) if version >= OLDEST => Ok(()),
        Some(version) => Err(format!(
            "it is {version}, and {OLDEST} is the oldest that will do"
        )),
        None => Err("it does not say which version it is".to_owned()),
    }
}

async fn unpack(places: &Places, folder: &Path) -> Result<(), String> {
    places.on_path("apt-get").ok_or("apt-get is not on PATH")?;
    say(&format!("taking {TOOL} from Debian's package {PACKAGE}"));
    if rustix::process::geteuid().is_root() {
        step(places, folder, "apt-get -qq update").await?;
    }
    step(places, folder, &format!("apt-get -qq download {PACKAGE}")).await?;
    // The shell knows the package's version.
    let unpack = format!("dpkg-deb --extract {PACKAGE}_*.deb . && cp {PROGRAM} {TOOL}");
    step(places, folder, &unpack).await?;
    check(&folder.join(TOOL)).await
}

async fn step(places: &Places, folder: &Path, script: &str) -> Result<(), String> {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", script])
        .current_dir(folder)
        .env("PATH", &places.search_path);
    run(shell.into(), STEP_WITHIN).await.map(drop)
}
