//! Where a server's program is: named by the user, on PATH, or in the tool folder.
//!
//! Reads no environment: the places are handed in. Whatever is passed over is said, with why.

use std::{
    env,
    ffi::OsString,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::process::Command;

use super::{
    run::run,
    say::Say,
    tool::{Tool, Version},
};

/// How long a program may take to print its version.
const VERSION_WITHIN: Duration = Duration::from_secs(10);

/// Where programs may be.
#[derive(Clone, Debug)]
pub struct Places {
    /// What the user named in [`Tool::variable`] of [`Tool::Nats`].
    pub nats_server: Option<PathBuf>,
    /// What the user named in [`Tool::variable`] of [`Tool::Redis`].
    pub redis_server: Option<PathBuf>,
    /// The folders of PATH, as that variable lists them.
    pub search_path: OsString,
    /// The project's tool folder, [`Places::TOOL_FOLDER`] unless the user wants another.
    pub tool_folder: PathBuf,
}

impl Places {
    /// The usual tool folder, relative to the working folder.
    pub const TOOL_FOLDER: &'static str = ".puruto/tools";

    /// The executable file `name` on PATH.
    #[must_use]
    pub fn on_path(&self, name: &str) -> Option<PathBuf> {
        env::split_paths(&self.search_path)
            .map(|folder| folder.join(name))
            .find(|file| is_executable(file))
    }

    fn named(&self, tool: Tool) -> Option<PathBuf> {
        match tool {
            Tool::Nats => self.nats_server.clone(),
            Tool::Redis => self.redis_server.clone(),
        }
    }

    /// Every program that could be `tool`, in the order of preference.
    fn candidates(&self, tool: Tool) -> Vec<PathBuf> {
        let on_path = tool.programs().iter().filter_map(|name| self.on_path(name));
        let named = self.named(tool).into_iter();
        named.chain(on_path).chain(self.in_folder(tool)).collect()
    }

    fn in_folder(&self, tool: Tool) -> Option<PathBuf> {
        let file = self.tool_folder.join(tool.name());
        is_executable(&file).then_some(file)
    }
}

/// A program that will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The file to run.
    pub program: PathBuf,
    /// What it says it is.
    pub version: Version,
}

/// The first program for `tool` that runs and is new enough.
pub async fn find(tool: Tool, places: &Places, say: &dyn Say) -> Option<Found> {
    first_good(tool, places.candidates(tool), say).await
}

/// As [`find`], in the tool folder alone.
pub(super) async fn find_installed(tool: Tool, places: &Places, say: &dyn Say) -> Option<Found> {
    first_good(tool, places.in_folder(tool).into_iter().collect(), say).await
}

async fn first_good(tool: Tool, programs: Vec<PathBuf>, say: &dyn Say) -> Option<Found> {
    for program in programs {
        match check(tool, &program).await {
            Ok(version) => return Some(Found { program, version }),
            Err(why) => say.say(&format!("passing over {}: {why}", program.display())),
        }
    }
    None
}

/// The version of `program`, or why it will not do as `tool`.
pub(super) async fn check(tool: Tool, program: &Path) -> Result<Version, String> {
    let mut command = Command::new(program);
    command.arg("--version");
    let printed = run(command, VERSION_WITHIN).await?;
    let version = Version::find_in(&printed)
        .ok_or_else(|| "it does not say which version it is".to_owned())?;
    let oldest = tool.oldest();
    if version < oldest {
        return Err(format!(
            "it is {tool} {version}, and {oldest} is the oldest that will do"
        ));
    }
    Ok(version)
}

fn is_executable(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
