//! A worker process: what it shows of itself, and what can befall it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitStatus,
    thread,
};

use puruto_fleet::{
    clock::Chance,
    dev::{
        launch::{Launch, Output, Role},
        member::Member,
        port::Port,
    },
};
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    patience::{until, within},
    support::{guard, ours_that_configure, say},
};

/// How many lines of its log a failed test shows.
const LAST_WORDS: usize = 20;

/// A worker process; dropping it kills it.
#[derive(Debug)]
pub(crate) struct Worker {
    name: String,
    process: Member,
    telemetry: Port,
    log: PathBuf,
}

impl Worker {
    /// Starts one with these variables and none of ours.
    pub(crate) async fn launch(
        name: &str,
        folder: &Path,
        variables: &[(String, String)],
        chance: &Chance,
    ) -> Self {
        let telemetry = Port::free(chance).expect("a port");
        let workers_dir = variables
            .iter()
            .find(|(name, _)| name == "PURUTO_WORKER__WORKERS_DIR")
            .map(|(_, dir)| dir.into());
        let log = folder.join(format!("{name}.log"));
        let launch = Launch {
            role: Role::Worker,
            name: name.to_owned(),
            workers_dir: workers_dir.expect("a workers folder"),
            folder: Some(folder.to_owned()),
            telemetry,
            arguments: Vec::new(),
            set: variables.to_vec(),
            unset: ours_that_configure(),
            output: Output::File(log.clone()),
            guard: guard(),
        };
        Self {
            name: name.to_owned(),
            process: Member::start(&launch).await.expect("a process"),
            telemetry,
            log,
        }
    }

    /// What it is called in headers and logs.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Where it serves its metrics and its health.
    pub(crate) fn telemetry(&self) -> String {
        self.telemetry.address().to_string()
    }

    /// Waits until it has its servers and its session.
    pub(crate) async fn until_ready(&self) {
        let what = format!("{} is ready", self.name);
        until(&what, async || self.is_ready().await.then_some(())).await;
    }

    /// Whether it says that it serves.
    pub(crate) async fn is_ready(&self) -> bool {
        let answer = self.get("/readyz").await;
        answer.is_ok_and(|(status, _)| status == 200)
    }

    /// Its counters, as Prometheus scrapes them.
    pub(crate) async fn metrics(&self) -> String {
        let (status, metrics) = self.get("/metrics").await.expect("its metrics");
        assert_eq!(status, 200, "{metrics}");
        metrics
    }

    /// Status and body of what it answers over HTTP.
    pub(crate) async fn get(&self, path: &str) -> io::Result<(u16, String)> {
        let mut stream = TcpStream::connect(self.telemetry.address()).await?;
        // By the older protocol the answer comes whole and ends with the connection.
        let question = format!("GET {path} HTTP/1.0\r\n\r\n");
        stream.write_all(question.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let (head, body) = answer.split_once("\r\n\r\n").expect("HTTP");
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
        Ok((status.expect("a status"), body.to_owned()))
    }

    /// The value of one series.
    pub(crate) async fn count(&self, series: &str) -> u64 {
        let metrics = self.metrics().await;
        let line = metrics.lines().find_map(|line| line.strip_prefix(series));
        let value = line.unwrap_or_else(|| panic!("no {series} in\n{metrics}"));
        value.trim().parse().expect("a number")
    }

    /// The value of one series, which is there once something was counted.
    pub(crate) async fn counted(&self, series: &str) -> Option<u64> {
        let metrics = self.metrics().await;
        let value = metrics.lines().find_map(|line| line.strip_prefix(series))?;
        Some(value.trim().parse().expect("a number"))
    }

    /// How often it started a handler of `target`.
    pub(crate) async fn executions(&self, target: &str) -> u64 {
        let series = format!("puruto_executions_total{{target=\"{target}\"}}");
        self.count(&series).await
    }

    /// Waits until it holds this many requests of `target` and runs them.
    pub(crate) async fn until_running(&self, target: &str, requests: u64) {
        let series = format!("puruto_in_flight{{target=\"{target}\"}}");
        let what = format!("{} runs {requests} of {target}", self.name);
        until(&what, async || {
            (self.count(&series).await == requests).then_some(())
        })
        .await;
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("its log")
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid().expect("it runs")
    }

    /// How many bytes of memory it occupies; `None` where the system does not say.
    pub(crate) fn memory(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).ok()?;
        let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"))?;
        let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kib * 1024)
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a process id"), signal).expect("signalled");
    }

    /// Ends it as a crash would.
    pub(crate) async fn kill(mut self) {
        self.process.kill().await.expect("killed");
    }

    /// How it ends by itself.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let name = self.name.clone();
        within(&format!("{name} ends"), self.dies()).await
    }

    /// As [`Worker::ended`], however long it lives.
    pub(crate) async fn dies(&mut self) -> ExitStatus {
        self.process.wait().await.expect("its status")
    }

    /// Tells it to stop; it must end in good order.
    pub(crate) async fn drain(&mut self) {
        self.signal(Signal::TERM);
        let status = self.ended().await;
        assert!(status.success(), "{} ended with {status}", self.name);
    }
}

impl Drop for Worker {
    /// A test that fails shows what its workers had to say.
    fn drop(&mut self) {
        if thread::panicking() {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            say(&format!("{} said last:", self.name));
            let lines: Vec<_> = log.lines().collect();
            let last = lines.len().saturating_sub(LAST_WORDS);
            lines[last..].iter().for_each(|line| say(line));
        }
    }
}
