//! One guarded child process: signal it, wait for it, let it not outlive its handle.
//!
//! Owns the process, not what it is for.

use std::{
    io,
    process::{Command, ExitStatus},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::spawner;

/// How long a dropped process may take to vanish after SIGKILL before it is let go.
const VANISH_WITHIN: Duration = Duration::from_secs(1);
/// How often a dropped process is looked at meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// A child process; dropping it kills it and waits until it is gone.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts `command`, best one made by [`super::guard::Guard::command`].
    ///
    /// # Errors
    ///
    /// When the command cannot be started.
    pub async fn spawn(command: Command) -> io::Result<Self> {
        let child = spawner::spawn(command).await?;
        Ok(Self { child })
    }

    /// Its process id; `None` once it has ended.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Its standard input, output and error: those that the command piped and nobody took before.
    pub fn take_pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        let child = &mut self.child;
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    ///
    /// When the system cannot tell.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Waits, without a bound of its own, until it has ended.
    ///
    /// # Errors
    ///
    /// When the system cannot tell.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Asks it to end with SIGTERM, and kills it when it has not done so `within` that time.
    ///
    /// # Errors
    ///
    /// When it cannot be signalled or waited for.
    pub async fn stop(&mut self, within: Duration) -> io::Result<ExitStatus> {
        self.signal(Signal::TERM)?;
        // A paused process would not see the request.
        self.signal(Signal::CONT)?;
        match tokio::time::timeout(within, self.child.wait()).await {
            Ok(ended) => ended,
            Err(_) => self.kill().await,
        }
    }

    /// Kills it with SIGKILL and waits until it is gone.
    ///
    /// # Errors
    ///
    /// When it cannot be signalled or waited for.
    pub async fn kill(&mut self) -> io::Result<ExitStatus> {
        self.signal(Signal::KILL)?;
        self.child.wait().await
    }

    /// Stops it from running, with SIGSTOP; its connections stay open.
    ///
    /// # Errors
    ///
    /// When it cannot be signalled.
    pub fn pause(&self) -> io::Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets it run again after [`Process::pause`].
    ///
    /// # Errors
    ///
    /// When it cannot be signalled.
    pub fn resume(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    /// A process that has ended takes no signal, and that is no error.
    fn signal(&self, signal: Signal) -> io::Result<()> {
        let pid = self.child.id().and_then(|pid| i32::try_from(pid).ok());
        match pid.and_then(Pid::from_raw) {
            Some(pid) => Ok(kill_process(pid, signal)?),
            None => Ok(()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // An error here means that it has ended already.
        drop(self.child.start_kill());
        let looks = VANISH_WITHIN.as_millis() / LOOK_EVERY.as_millis();
        for _ in 0..looks {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}
