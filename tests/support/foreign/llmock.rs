//! `llmock`: a model server in Python that fails as it is told and judges how its client took it.

use puruto_fleet::dev::{find::Places, install::Packages};

use super::{
    Missing,
    mock::Mock,
    python::{Kit, Python},
};

const KIT: Kit = Kit {
    tool: "llmock",
    packages: Packages {
        folder: "llmock-0.2.2",
        size: "6 MB once",
        requirements: include_str!("llmock.txt"),
    },
};
/// Its own command line wants packages that nothing else here does.
const SCRIPT: &str = "import sys, uvicorn\n\
    uvicorn.run('llmock.main:app', host='127.0.0.1', port=int(sys.argv[1]), log_level='error')\n";

/// A fresh one with these settings, fetched first on a machine that has not got it.
pub(crate) async fn start(places: &Places, settings: &[(&str, &str)]) -> Result<Mock, Missing> {
    let python = Python::with(&KIT, places).await?;
    let started = Mock::start(|port| {
        let mut command = python.command();
        command
            .args(["-c", SCRIPT, &port.to_string()])
            .envs(settings.iter().copied());
        command
    });
    Ok(started.await)
}
