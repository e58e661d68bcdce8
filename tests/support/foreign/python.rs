//! A Python with pinned packages, each with its hash checked, in a folder of their own.
//!
//! Owns how an interpreter gets them and finds them. Whatever else the user's Python has, these
//! come first.

use std::{path::PathBuf, process::Command, time::Duration};

use puruto_fleet::dev::{
    find::Places,
    install::{self, Packages},
    run::run,
};

use super::{Missing, unpacked};
use crate::support::{guard, say};

/// How long a script may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(3 * 60);

/// Packages of Python, and what is not there without them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kit {
    /// What people call it.
    pub(super) tool: &'static str,
    /// Those wanted, and all that they stand on.
    pub(crate) packages: Packages,
}

/// A client of NATS.
pub(crate) const NATS_PY: Kit = Kit {
    tool: "Python with nats-py",
    packages: Packages {
        folder: "nats-py-2.16.0",
        size: "100 kB once",
        requirements: include_str!("nats_py.txt"),
    },
};

/// The SDK of the Model Context Protocol, to write clients and servers of tools with.
pub(crate) const MCP: Kit = Kit {
    tool: "Python with mcp",
    packages: Packages {
        folder: "mcp-2.3.0",
        size: "10 MB once",
        requirements: include_str!("mcp.txt"),
    },
};

/// The SDK of the Agent2Agent protocol, to ask agents with.
pub(crate) const A2A: Kit = Kit {
    tool: "Python with a2a-sdk",
    packages: Packages {
        folder: "a2a-sdk-1.3.0",
        size: "10 MB once",
        requirements: include_str!("a2a.txt"),
    },
};

/// An interpreter that can import the packages of a kit.
#[derive(Clone, Debug)]
pub(crate) struct Python {
    /// The interpreter.
    pub(crate) program: PathBuf,
    /// What `PYTHONPATH` has to name.
    pub(crate) packages: PathBuf,
}

impl Python {
    /// One on the machine that `places` describes; the kit is fetched first where it is not there.
    pub(crate) async fn with(kit: &Kit, places: &Places) -> Result<Self, Missing> {
        let missing = |why: String| Missing {
            tool: kit.tool,
            why,
        };
        let program = places.on_path("python3");
        let program = program.ok_or_else(|| missing("python3 is not on PATH".to_owned()))?;
        let packages = install::packages(&kit.packages, places, &say).await;
        let packages = packages.map_err(|error| missing(unpacked(error)))?;
        Ok(Self { program, packages })
    }

    /// A command of it that ends with the test; the caller adds what it is to run.
    pub(crate) fn command(&self) -> Command {
        let mut command = guard().command(&self.program);
        command
            .env("PYTHONPATH", &self.packages)
            .env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    /// What it prints when it is run with these arguments and succeeds; else why not.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = self.command();
        command.args(arguments);
        run(command.into(), ANSWER_WITHIN).await
    }
}
