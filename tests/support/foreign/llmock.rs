//! `llmock`: a model server in Python that fails as it is told and judges how its client took it.

use puruto_fleet::dev::{
    find::Places,
    install::{self, Packages},
};

use super::{Missing, mock::Mock, unpacked};
use crate::support::{guard, say};

const TOOL: &str = "llmock";
const PACKAGES: Packages = Packages {
    folder: "llmock-0.2.2",
    size: "6 MB once",
    requirements: include_str!("llmock.txt"),
};
/// Its own command line wants packages that nothing else here does.
const SCRIPT: &str = "import sys, uvicorn\n\
    uvicorn.run('llmock.main:app', host='127.0.0.1', port=int(sys.argv[1]), log_level='error')\n";

/// A fresh one with these settings, fetched first on a machine that has not got it.
pub(crate) async fn start(places: &Places, settings: &[(&str, &str)]) -> Result<Mock, Missing> {
    let missing = |why: String| Missing { tool: TOOL, why };
    let python = places.on_path("python3");
    let python = python.ok_or_else(|| missing("python3 is not on PATH".to_owned()))?;
    let packages = install::packages(&PACKAGES, places, &say).await;
    let packages = packages.map_err(|error| missing(unpacked(error)))?;
    let started = Mock::start(|port| {
        let mut command = guard().command(&python);
        command
            .args(["-c", SCRIPT, &port.to_string()])
            .env("PYTHONPATH", packages)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .envs(settings.iter().copied());
        command
    });
    Ok(started.await)
}
