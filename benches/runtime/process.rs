//! A part of the benchmark in a process of its own, so that nobody's memory and time are
//! another's.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    process::{self, ChildStdout, Command, Stdio},
};

use super::Outcome;

/// A process that ends with whoever started it.
#[derive(Debug)]
pub(super) struct Child {
    process: process::Child,
    output: BufReader<ChildStdout>,
}

impl Child {
    /// Starts this program with `words`; what it logs is written and thrown away.
    pub(super) fn start(words: &[&str]) -> Outcome<Self> {
        let mut process = Command::new(env::current_exe()?)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::options().write(true).open("/dev/null")?)
            .spawn()?;
        let output = process.stdout.take().ok_or("no standard output")?;
        Ok(Self {
            process,
            output: BufReader::new(output),
        })
    }

    /// The next line that it prints.
    pub(super) fn line(&mut self) -> Outcome<String> {
        let mut line = String::new();
        match self.output.read_line(&mut line)? {
            0 => Err("it printed nothing more".into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }

    /// Waits for its end, which is to be a good one.
    pub(super) fn ended(&mut self) -> Outcome<()> {
        let status = self.process.wait()?;
        if status.success() {
            return Ok(());
        }
        Err(format!("a part of the benchmark failed: {status}").into())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}
