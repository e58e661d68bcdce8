//! The `nats` command line: named by the user, on PATH, or built from its source.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use puruto_fleet::dev::{find::Places, run::run, tool::Version};

use super::{Missing, folder};
use crate::support::{guard, say};

const TOOL: &str = "the nats command line";
/// Names a program of the user's own.
pub(super) const VARIABLE: &str = "PURUTO_NATS_CLI";
/// Its program, and the file in the tool folder.
const PROGRAM: &str = "nats";
/// Go's checksum database vouches for it.
const SOURCE: &str = "github.com/nats-io/natscli/nats@v0.5.0";
/// Has every verb and flag that the tests use.
const OLDEST: Version = Version::new(0, 2, 0);

/// How long the download and the build may take on a slow machine.
const BUILD_WITHIN: Duration = Duration::from_secs(10 * 60);
/// How long one command may take; those that wait for messages are told how many.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The command line, pointed at one server.
#[derive(Clone, Debug)]
pub(crate) struct NatsCli {
    program: PathBuf,
    url: String,
}

impl NatsCli {
    /// The command line on the machine that `places` describes: `named`, on PATH, or built now.
    pub(crate) async fn obtain(
        places: &Places,
        named: Option<PathBuf>,
        url: &str,
    ) -> Result<Self, Missing> {
        let url = url.to_owned();
        for program in named.into_iter().chain(places.on_path(PROGRAM)) {
            match check(&program).await {
                Ok(()) => return Ok(Self { program, url }),
                Err(why) => say(&format!("passing over {}: {why}", program.display())),
            }
        }
        let built = folder::have(places, PROGRAM, async |folder| build(places, folder).await);
        let program = built.await.map_err(|why| Missing {
            tool: TOOL,
            why: format!("{why}; install it, or name its program in {VARIABLE}"),
        })?;
        Ok(Self { program, url })
    }

    /// A command that ends with the test, for what goes on by itself such as `sub`.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = guard().command(&self.program);
        self.point(&mut command, arguments);
        command
    }

    /// What the command prints when it succeeds; else why not.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(&self.program);
        self.point(&mut command, arguments);
        run(command.into(), ANSWER_WITHIN).await
    }

    /// Whatever contexts and credentials the user has, this server is meant.
    fn point(&self, command: &mut Command, arguments: &[&str]) {
        command
            .env_clear()
            .args(["--no-context", "--server", &self.url])
            .args(arguments);
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

async fn build(places: &Places, folder: &Path) -> Result<(), String> {
    let go = places.on_path("go").ok_or("go is not on PATH")?;
    say(&format!("building {TOOL} with go install {SOURCE}"));
    let mut go = Command::new(go);
    go.args(["install", SOURCE])
        .env("PATH", &places.search_path)
        .env("CGO_ENABLED", "0")
        .env("GOBIN", folder);
    run(go.into(), BUILD_WITHIN).await?;
    check(&folder.join(PROGRAM)).await
}
