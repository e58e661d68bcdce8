//! A program and all that it starts, as one process group that does not outlive its handle.
//!
//! The group is killed before its leader is reaped: until then the leader's id, which is the
//! group's, can be nobody else's. Never: reads or writes, or what the program is for.

mod argv;
mod stderr;

use std::{
    io,
    process::{ExitStatus, Stdio},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::{
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    runtime::Handle,
    signal::unix::{SignalKind, signal},
};

pub(super) use self::{
    argv::{Argv, VariableName, environment},
    stderr::log,
};

/// Our ends of a program's standard input, output and error.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

impl Pipes {
    fn of(child: &mut Child) -> io::Result<Self> {
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("a process without pipes"));
        };
        Ok(Self {
            stdin,
            stdout,
            stderr,
        })
    }
}

/// A running program; dropping it kills its whole group at once.
#[derive(Debug)]
pub(super) struct Program {
    /// None once it is reaped.
    leader: Option<Child>,
    group: Pid,
}

impl Program {
    /// Starts `command` in a process group of its own.
    pub(super) fn start(command: &mut Command) -> io::Result<(Self, Pipes)> {
        let mut leader = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let id = leader.id().and_then(|id| i32::try_from(id).ok());
        let group = id.and_then(Pid::from_raw);
        let group = group.ok_or_else(|| io::Error::other("a process without an id"))?;
        let pipes = Pipes::of(&mut leader);
        let leader = Some(leader);
        Ok((Self { leader, group }, pipes?))
    }

    /// Waits until it has ended by itself, and kills what it left behind in its group.
    ///
    /// Dropping the future kills the program as well.
    pub(super) async fn ended(mut self) -> io::Result<ExitStatus> {
        until_exited(self.group).await?;
        self.kill();
        let leader = self.leader.as_mut();
        let leader = leader.ok_or_else(|| io::Error::other("a process that was reaped before"))?;
        let status = leader.wait().await;
        self.leader = None;
        status
    }

    fn kill(&self) {
        if let Err(error) = kill_process_group(self.group, Signal::KILL) {
            tracing::debug!(%error, "nothing was left to kill");
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let Some(mut leader) = self.leader.take() else {
            return;
        };
        self.kill();
        // Reaped in a moment. A runtime that is ending leaves that to the end of the process.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { leader.wait().await });
        }
    }
}

/// Waits until `leader`, a child of ours, has ended, and leaves it to be reaped.
async fn until_exited(leader: Pid) -> io::Result<()> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    // Listens before it looks, so that no end falls in between.
    let mut ends = signal(SignalKind::child())?;
    while waitid(WaitId::Pid(leader), look)?.is_none() {
        ends.recv().await;
    }
    Ok(())
}
