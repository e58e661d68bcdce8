//! The wrapper under which every child process runs, so that none outlives its starter.
//!
//! A starter that is killed with SIGKILL cannot clean up. So each child begins as our own
//! program, which asks the kernel to be killed when its parent dies and then becomes the wanted
//! program (`exec` keeps both the wish and the process id). That needs no code between `fork` and
//! `exec`, so it needs no `unsafe`.
//!
//! The kernel's "parent" is the *thread* that forked: children are started by the spawner's
//! thread, which lives as long as the process.
//!
//! The wish exists on Linux only. Elsewhere the wrapper just becomes the program: an orderly end
//! of the starter stops its children, a SIGKILL does not.

use std::{
    ffi::OsString,
    io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Command,
};

/// The hidden verb of the `puruto` binary: `puruto internal-guard PARENT_PID -- PROGRAM ARGS...`.
pub const VERB: &str = "internal-guard";

/// Wraps commands so that they end with this process.
#[derive(Clone, Debug)]
pub struct Guard {
    puruto: PathBuf,
}

impl Guard {
    /// A guard that runs as `puruto`, the path of the `puruto` binary.
    #[must_use]
    pub fn new(puruto: impl Into<PathBuf>) -> Self {
        Self {
            puruto: puruto.into(),
        }
    }

    /// A command that runs `program` under guard; the caller adds its arguments.
    ///
    /// It is in a process group of its own: a Ctrl-C in the terminal reaches only the starter,
    /// which then stops its children in the right order.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(&self.puruto);
        command
            .arg(VERB)
            .arg(std::process::id().to_string())
            .arg("--")
            .arg(program)
            .process_group(0);
        command
    }

    /// A command that runs `verb` of the `puruto` binary itself under guard.
    #[must_use]
    pub fn verb(&self, verb: &str) -> Command {
        let mut command = self.command(&self.puruto);
        command.arg(verb);
        command
    }
}

/// Becomes the program named in `args`, what follows the verb on the command line.
///
/// Returns only when it cannot, with the reason.
pub fn exec(args: impl IntoIterator<Item = OsString>) -> io::Error {
    match prepare(args.into_iter()) {
        Ok(mut command) => command.exec(),
        Err(error) => error,
    }
}

fn prepare(mut args: impl Iterator<Item = OsString>) -> io::Result<Command> {
    let parent = args
        .next()
        .and_then(|pid| pid.to_str()?.parse().ok())
        .ok_or_else(usage)?;
    args.next().filter(|mark| mark == "--").ok_or_else(usage)?;
    let program = args.next().ok_or_else(usage)?;
    die_with(parent)?;
    let mut command = Command::new(program);
    command.args(args);
    Ok(command)
}

fn usage() -> io::Error {
    let text = format!("usage: {VERB} PARENT_PID -- PROGRAM ARGS...");
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

#[cfg(target_os = "linux")]
fn die_with(parent: i32) -> io::Result<()> {
    use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

    set_parent_process_death_signal(Some(Signal::KILL))?;
    // A parent that died before the wish was made sends no signal.
    if Pid::as_raw(getppid()) == parent {
        return Ok(());
    }
    let text = format!("process {parent}, which started this one, is gone");
    Err(io::Error::other(text))
}

#[cfg(not(target_os = "linux"))]
fn die_with(_parent: i32) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(args: &[&str]) -> String {
        exec(args.iter().map(OsString::from)).to_string()
    }

    #[test]
    fn a_malformed_command_line_is_answered_with_its_usage() {
        for args in [&[][..], &["x", "--", "true"], &["1", "true"], &["1", "--"]] {
            assert!(
                refused(args).starts_with("usage: internal-guard"),
                "{args:?}"
            );
        }
    }
}
