//! The one thread that forks.
//!
//! The kernel's parent death signal fires when the *thread* that forked ends, and the threads of
//! an async runtime come and go. This thread lives until the process ends, so what it starts is
//! killed by the death of the process and by nothing earlier.

use std::{io, process::Command, sync::OnceLock, thread};

use tokio::{
    process::Child,
    runtime::Handle,
    sync::{mpsc, oneshot},
};

/// Commands that wait to be started; whoever finds the queue full waits.
const QUEUE: usize = 16;

struct Request {
    command: Command,
    /// The runtime that will wait for the child.
    runtime: Handle,
    answer: oneshot::Sender<io::Result<Child>>,
}

/// Starts `command` from the spawner's thread; the child is killed when it is dropped.
///
/// # Errors
///
/// When the command, or the thread itself, cannot be started.
pub(super) async fn spawn(command: Command) -> io::Result<Child> {
    let (answer, started) = oneshot::channel();
    let request = Request {
        command,
        runtime: Handle::current(),
        answer,
    };
    queue()?.send(request).await.map_err(|_| ended())?;
    started.await.map_err(|_| ended())?
}

fn ended() -> io::Error {
    io::Error::other("the thread that starts processes has ended")
}

fn queue() -> io::Result<&'static mpsc::Sender<Request>> {
    static QUEUE_END: OnceLock<Result<mpsc::Sender<Request>, io::Error>> = OnceLock::new();
    QUEUE_END
        .get_or_init(start)
        .as_ref()
        .map_err(|error| io::Error::new(error.kind(), error.to_string()))
}

fn start() -> io::Result<mpsc::Sender<Request>> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    thread::Builder::new()
        .name("spawner".to_owned())
        .spawn(move || serve(receiver))?;
    Ok(sender)
}

fn serve(mut requests: mpsc::Receiver<Request>) {
    while let Some(request) = requests.blocking_recv() {
        let child = {
            let _runtime = request.runtime.enter();
            tokio::process::Command::from(request.command)
                .kill_on_drop(true)
                .spawn()
        };
        // Whoever asked may be gone; the child is then dropped here, and so killed.
        drop(request.answer.send(child));
    }
}
