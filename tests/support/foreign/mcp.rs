//! `mcp`: the Python SDK of the Model Context Protocol, to write servers of tools with.

use std::path::{Path, PathBuf};

use puruto_fleet::dev::{
    find::Places,
    install::{self, Packages},
};

use super::{Missing, mock::Mock, unpacked};
use crate::support::{guard, say};

const TOOL: &str = "Python with mcp";
const PACKAGES: Packages = Packages {
    folder: "mcp-2.3.0",
    size: "10 MB once",
    requirements: include_str!("mcp.txt"),
};

/// A Python that can `import mcp`.
#[derive(Clone, Debug)]
pub(crate) struct PythonWithMcp {
    /// The interpreter.
    pub(crate) program: PathBuf,
    /// What `PYTHONPATH` has to name.
    pub(crate) packages: PathBuf,
}

impl PythonWithMcp {
    /// The same on the machine that `places` describes, which is fetched first where it is not there.
    pub(crate) async fn obtain(places: &Places) -> Result<Self, Missing> {
        let missing = |why: String| Missing { tool: TOOL, why };
        let program = places.on_path("python3");
        let program = program.ok_or_else(|| missing("python3 is not on PATH".to_owned()))?;
        let packages = install::packages(&PACKAGES, places, &say).await;
        let packages = packages.map_err(|error| missing(unpacked(error)))?;
        Ok(Self { program, packages })
    }

    /// `script` as a server of its own, which is told `http` and its port, and answers at `/health`.
    pub(crate) async fn serve(&self, script: &Path) -> Mock {
        let started = Mock::start(|port| {
            let mut command = guard().command(&self.program);
            command
                .arg(script)
                .args(["http", &port.to_string()])
                .env("PYTHONPATH", &self.packages)
                .env("PYTHONDONTWRITEBYTECODE", "1");
            command
        });
        started.await
    }
}
