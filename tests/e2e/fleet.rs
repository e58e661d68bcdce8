//! A fleet of its own for each test: servers, a folder of Purutos, and what reaches them.

use std::{fs, path::PathBuf};

use puruto_fleet::clock::Chance;
use serde_json::json;

use crate::{
    support::Servers,
    terminal::{Ended, Running},
    wire::Wire,
    worker::Worker,
};

/// Who asks in these tests: the person at a terminal.
pub(crate) const CALLER: &str = "puruto-cli";

/// Makes a dead worker's requests free for others within about two seconds.
const QUICK_TAKE_OVER: [(&str, &str); 6] = [
    ("PURUTO_REDIS__SESSION_TTL", "2s"),
    ("PURUTO_REDIS__SESSION_RENEW", "500ms"),
    ("PURUTO_REDIS__RESPONSE_TIMEOUT", "450ms"),
    ("PURUTO_REDIS__SESSION_MARGIN", "500ms"),
    ("PURUTO_NATS__ACK_WAIT", "1700ms"),
    ("PURUTO_WORKER__PROGRESS_INTERVAL", "500ms"),
];

/// Servers and the Purutos that are served on them.
#[derive(Debug)]
pub(crate) struct Fleet {
    pub(crate) servers: Servers,
    pub(crate) chance: Chance,
    pub(crate) workers_dir: PathBuf,
    variables: Vec<(String, String)>,
}

impl Fleet {
    /// The Purutos that the project ships.
    pub(crate) async fn shipped() -> Self {
        let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/workers");
        Self::on(Servers::start().await, shipped.into())
    }

    /// These Purutos, each with its `worker.toml`; [`CALLER`] may ask all of them for anything.
    pub(crate) async fn of(purutos: &[(&str, &str)]) -> Self {
        Self::of_these(purutos, Servers::start().await)
    }

    /// The same, on these servers.
    pub(crate) fn of_these(purutos: &[(&str, &str)], servers: Servers) -> Self {
        let workers_dir = servers.folder().join("workers");
        for (name, worker) in purutos {
            let folder = workers_dir.join(name);
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join("worker.toml"), worker).expect("a file");
        }
        let fleet = Self::on(servers, workers_dir);
        let names: Vec<_> = purutos.iter().map(|(name, _)| *name).collect();
        fleet.allow(CALLER, &names);
        fleet
    }

    fn on(servers: Servers, workers_dir: PathBuf) -> Self {
        let variables = [
            ("NATS_URL", servers.nats.url()),
            ("REDIS_URL", servers.redis.url()),
            (
                "PURUTO_WORKER__WORKERS_DIR",
                workers_dir.display().to_string(),
            ),
        ];
        Self {
            servers,
            chance: Chance::system(),
            workers_dir,
            variables: variables.map(|(name, it)| (name.to_owned(), it)).into(),
        }
    }

    /// The same, with dead workers found out soon.
    pub(crate) fn with_quick_take_over(self) -> Self {
        QUICK_TAKE_OVER
            .into_iter()
            .fold(self, |fleet, (name, value)| fleet.with(name, value))
    }

    /// The same, with one more variable for all its processes.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// What its processes are told by their environment.
    pub(crate) fn variables(&self) -> &[(String, String)] {
        &self.variables
    }

    /// Lets `caller` ask these targets for anything, and no others.
    pub(crate) fn allow(&self, caller: &str, targets: &[&str]) {
        self.write_policy(
            caller,
            &json!({"owner": caller, "allowed_targets": targets}).to_string(),
        );
    }

    /// Gives a Puruto a document.
    pub(crate) fn document(&self, puruto: &str, name: &str, text: &str) {
        let folder = self.workers_dir.join(puruto).join("docs");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(name), text).expect("a file");
    }

    /// Puts this text where the policy of `caller` stands.
    pub(crate) fn write_policy(&self, caller: &str, text: &str) {
        let folder = self.workers_dir.join(caller);
        fs::create_dir_all(&folder).expect("a folder");
        // In one step, as an editor does it.
        let incoming = folder.join(".incoming");
        fs::write(&incoming, text).expect("a file");
        fs::rename(incoming, folder.join(".puruto-ipc.json")).expect("moved");
    }

    /// A worker process that serves.
    pub(crate) async fn worker(&self, name: &str) -> Worker {
        let worker = self.launch(name).await;
        worker.until_ready().await;
        worker
    }

    /// A worker process that serves this target alone.
    pub(crate) async fn worker_for(&self, name: &str, target: &str) -> Worker {
        self.worker_with(name, ("PURUTO_WORKER__TARGETS", target))
            .await
    }

    /// A worker process that serves, with one more variable for itself.
    pub(crate) async fn worker_with(&self, name: &str, variable: (&str, &str)) -> Worker {
        let mut variables = self.variables.clone();
        variables.push((variable.0.to_owned(), variable.1.to_owned()));
        let folder = self.servers.folder();
        let worker = Worker::launch(name, folder, &variables, &self.chance).await;
        worker.until_ready().await;
        worker
    }

    /// A worker process that was just started.
    pub(crate) async fn launch(&self, name: &str) -> Worker {
        let folder = self.servers.folder();
        Worker::launch(name, folder, &self.variables, &self.chance).await
    }

    /// Runs a verb of `puruto` to its end, its output in a pipe.
    pub(crate) async fn puruto(&self, arguments: &[&str]) -> Ended {
        self.begin(arguments).await.ended().await
    }

    /// The same, with these variables as well.
    pub(crate) async fn puruto_with(&self, more: &[(&str, &str)], arguments: &[&str]) -> Ended {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut variables = self.variables.clone();
        variables.extend(more.iter().map(own));
        let begun = Running::begin(self.servers.folder(), &variables, arguments).await;
        begun.ended().await
    }

    /// Begins a verb of `puruto`, its output in a pipe.
    pub(crate) async fn begin(&self, arguments: &[&str]) -> Running {
        Running::begin(self.servers.folder(), &self.variables, arguments).await
    }

    /// A client that knows nothing of ours.
    pub(crate) async fn wire(&self) -> Wire {
        Wire::connect(&self.servers.nats.url()).await
    }
}
