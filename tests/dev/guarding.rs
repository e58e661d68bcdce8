//! No child outlives its starter, and none dies of less.

use std::{fs, future::Future, path::Path, process::Stdio, thread, time::Duration};

use puruto_fleet::dev::{guard::VERB, process::Process};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{ChildStdin, ChildStdout, Command},
    runtime::Handle,
    time::{sleep, timeout},
};

use crate::support;

/// How long the kernel and a loaded machine may take.
const PATIENCE: Duration = Duration::from_secs(20);

const PURUTO: &str = env!("CARGO_BIN_EXE_puruto");

async fn soon<T>(what: &str, event: impl Future<Output = T>) -> T {
    timeout(PATIENCE, event).await.expect(what)
}

#[tokio::test]
async fn a_starter_that_is_killed_leaves_no_child() {
    let starter = format!("{PURUTO} {VERB} $$ -- /bin/sh -c 'echo up; exec sleep 300' & wait");
    let mut starter = Command::new("/bin/sh")
        .args(["-c", &starter])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut output = BufReader::new(starter.stdout.take().expect("piped"));
    let mut line = String::new();
    soon("the child starts", output.read_line(&mut line))
        .await
        .expect("a line");
    assert_eq!(line, "up\n");

    starter.kill().await.expect("killed");

    // The pipe ends when the last process that could write to it is gone.
    let rest = soon("the child is gone", output.read_to_string(&mut line)).await;
    assert_eq!(rest.expect("the end"), 0);
}

#[tokio::test]
async fn a_child_whose_starter_is_gone_before_it_begins_never_begins() {
    let nobody = i32::MAX.to_string();
    let refused = Command::new(PURUTO)
        .args([VERB, &nobody, "--", "/bin/echo", "begun"])
        .output();
    let output = soon("it ends", refused).await.expect("an end");

    assert!(!output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("is gone"), "{said}");
}

/// A `cat` under guard, which tells by its echo that it lives.
struct Echo {
    _process: Process,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Echo {
    async fn start() -> Self {
        let mut command = support::guard().command(Path::new("/bin/cat"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Process::spawn(command).await.expect("cat");
        let (input, output, _) = process.take_pipes();
        Self {
            _process: process,
            input: input.expect("piped"),
            output: BufReader::new(output.expect("piped")),
        }
    }

    async fn assert_lives(&mut self) {
        self.input.write_all(b"alive\n").await.expect("written");
        let mut line = String::new();
        let echo = self.output.read_line(&mut line);
        soon("an echo", echo).await.expect("a line");
        assert_eq!(line, "alive\n");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_child_outlives_the_thread_that_asked_for_it() {
    let runtime = Handle::current();
    let asking = thread::spawn(move || {
        let mut child = runtime.block_on(Echo::start());
        // Only a child that is through the guard has wished to die with its parent.
        runtime.block_on(child.assert_lives());
        let this_thread = fs::read_link("/proc/thread-self").expect("a link");
        (child, Path::new("/proc").join(this_thread))
    });
    let joined = tokio::task::spawn_blocking(|| asking.join()).await;
    let (mut child, asked_by) = joined.expect("joined").expect("no panic");
    // The kernel has sent the death signals of a thread by the time it has forgotten the thread.
    soon("the thread is gone", async {
        while asked_by.exists() {
            sleep(Duration::from_millis(1)).await;
        }
    })
    .await;

    child.assert_lives().await;
}
