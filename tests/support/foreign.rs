//! What nobody here wrote: the `nats` command line and `nats-py`, which are clients of NATS,
//! `llmock`, `aimock` and a small real model, which are model servers, `mcp`, with which servers of
//! tools are written, `a2a-sdk`, which asks agents, `promtool`, which judges alerts,
//! and `schemathesis`, which judges a server by its OpenAPI description.
//!
//! Owns where they are found or installed, and what becomes of a test where one cannot be had. A
//! test asks with [`need`]:
//!
//! ```ignore
//! let Some(nats) = need(nats_cli(&servers.nats.url()).await) else {
//!     return;
//! };
//! ```

pub(crate) mod aimock;
mod folder;
pub(crate) mod llmock;
pub(crate) mod mcp;
pub(crate) mod mock;
pub(crate) mod nats_cli;
pub(crate) mod promtool;
pub(crate) mod python;
pub(crate) mod schemathesis;

use std::{
    env,
    path::{Path, PathBuf},
};

use puruto_fleet::{
    clock::Chance,
    dev::{error::DevError, model::ModelServer},
};

use self::{
    mock::Mock,
    nats_cli::NatsCli,
    promtool::Promtool,
    python::{Kit, Python},
    schemathesis::Schemathesis,
};
use super::{guard, places, say};

/// The `nats` command line for the servers at `url`, built first on a machine that has none.
pub(crate) async fn nats_cli(url: &str) -> Result<NatsCli, Missing> {
    let named = env::var_os(nats_cli::VARIABLE).map(PathBuf::from);
    NatsCli::obtain(&places(), named, url).await
}

/// `promtool`, unpacked first on a machine that has none.
pub(crate) async fn promtool() -> Result<Promtool, Missing> {
    let named = env::var_os(promtool::VARIABLE).map(PathBuf::from);
    Promtool::obtain(&places(), named).await
}

/// A Python that can import the packages of `kit`, which are fetched first on a machine that has not
/// got them.
pub(crate) async fn python_with(kit: &Kit) -> Result<Python, Missing> {
    Python::with(kit, &places()).await
}

/// `schemathesis`, which is fetched first on a machine that has not got it.
pub(crate) async fn schemathesis() -> Result<Schemathesis, Missing> {
    Schemathesis::obtain(&places()).await
}

/// `llmock` with these settings of its own, which is fetched first on a machine that has not got it.
pub(crate) async fn llmock(settings: &[(&str, &str)]) -> Result<Mock, Missing> {
    llmock::start(&places(), settings).await
}

/// `aimock` with these arguments, which is fetched first on a machine that has not got it.
pub(crate) async fn aimock(arguments: &[&str]) -> Result<Mock, Missing> {
    aimock::start(&places(), arguments).await
}

/// A small model under a real engine, which are fetched first on a machine that has not got them;
/// what the engine has to say goes to the file `log`.
pub(crate) async fn small_model(log: &Path) -> Result<ModelServer, Missing> {
    let chance = Chance::system();
    let started = ModelServer::start(&places(), &guard(), log, &chance, &say).await;
    started.map_err(|error| Missing {
        tool: "a small model",
        why: unpacked(error),
    })
}

/// Why packages of Python could not be installed.
fn unpacked(error: DevError) -> String {
    match error {
        DevError::NoModel(why) => why,
        other => other.to_string(),
    }
}

/// Why a tool is not there.
#[derive(Debug, thiserror::Error)]
#[error("{tool} cannot be had: {why}")]
pub(crate) struct Missing {
    pub(crate) tool: &'static str,
    pub(crate) why: String,
}

/// Who runs the tests.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Runner {
    /// Somebody whose machine may lack what they do not use.
    Person,
    /// The gate before a merge, which proves everything or fails.
    Ci,
}

impl Runner {
    fn of_this_run() -> Self {
        if env::var_os("CI").is_some_and(|value| value == "true") {
            Self::Ci
        } else {
            Self::Person
        }
    }
}

/// The tool; `None` where a person's machine lacks it, which is then said and ends the test.
///
/// Under `CI=true` a missing tool fails the test instead.
pub(crate) fn need<T>(tool: Result<T, Missing>) -> Option<T> {
    need_for(Runner::of_this_run(), tool)
}

/// As [`need`], for this runner.
#[track_caller]
pub(crate) fn need_for<T>(runner: Runner, tool: Result<T, Missing>) -> Option<T> {
    let missing = match tool {
        Ok(tool) => return Some(tool),
        Err(missing) => missing,
    };
    let may_lack = matches!(runner, Runner::Person);
    assert!(may_lack, "{missing}; under CI=true every test has its tool");
    say(&format!("this test proves nothing here: {missing}"));
    None
}
