//! `schemathesis`: asks whatever an OpenAPI description allows and forbids, and judges the answers.

use std::{path::Path, time::Duration};

use puruto_fleet::dev::{find::Places, install::Packages};
use tokio::{process::Command, time::timeout};

use super::{
    Missing,
    python::{Kit, Python},
};

const KIT: Kit = Kit {
    tool: "schemathesis",
    packages: Packages {
        folder: "schemathesis-4.32.5",
        size: "15 MB once",
        requirements: include_str!("schemathesis.txt"),
    },
};

/// How long a run may take, on a machine that is busy.
const JUDGED_WITHIN: Duration = Duration::from_secs(10 * 60);

/// A Python that has it.
#[derive(Clone, Debug)]
pub(crate) struct Schemathesis(Python);

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Judged {
    /// Whether every answer was as the description has it.
    pub(crate) is_good: bool,
    /// What it printed, for people.
    pub(crate) printed: String,
}

impl Schemathesis {
    /// The same on the machine that `places` describes, which is fetched first where it is not there.
    pub(crate) async fn obtain(places: &Places) -> Result<Self, Missing> {
        Python::with(&KIT, places).await.map(Self)
    }

    /// Judges what is described at `url` with these arguments, and leaves what it makes in `folder`.
    pub(crate) async fn run(&self, url: &str, arguments: &[&str], folder: &Path) -> Judged {
        let mut command = Command::from(self.0.command());
        command
            .args(["-m", "schemathesis.cli", "run", url, "--no-color"])
            .args(arguments)
            .current_dir(folder)
            .env("PYTHONIOENCODING", "utf-8")
            .kill_on_drop(true);
        let ended = timeout(JUDGED_WITHIN, command.output()).await;
        let output = ended.expect("it ends in time").expect("it starts");
        let said = [output.stdout, output.stderr].concat();
        Judged {
            is_good: output.status.success(),
            printed: String::from_utf8_lossy(&said).into_owned(),
        }
    }
}
