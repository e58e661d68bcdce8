//! Everything that a command writes: answers to standard output, errors to standard error.
//!
//! A reader that has gone away is an error of its own kind, never a panic.

use std::{
    fmt,
    io::{self, IsTerminal as _, Write},
    sync::{Mutex, PoisonError},
};

/// Who reads what a command writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A person at a terminal.
    Person,
    /// A program, or a file.
    Program,
}

/// Where a command writes.
pub struct Output {
    stdout: Mutex<Box<dyn Write + Send>>,
    stderr: Mutex<Box<dyn Write + Send>>,
    reader: Reader,
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output")
            .field("reader", &self.reader)
            .finish_non_exhaustive()
    }
}

impl Output {
    /// The process's own; a person reads it when both are a terminal.
    #[must_use]
    pub fn of_process() -> Self {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        let reader = if stdout.is_terminal() && stderr.is_terminal() {
            Reader::Person
        } else {
            Reader::Program
        };
        Self::new(Box::new(stdout), Box::new(stderr), reader)
    }

    pub(super) fn new(
        stdout: Box<dyn Write + Send>,
        stderr: Box<dyn Write + Send>,
        reader: Reader,
    ) -> Self {
        Self {
            stdout: Mutex::new(stdout),
            stderr: Mutex::new(stderr),
            reader,
        }
    }

    /// Who reads it, unless `json` was asked for.
    pub(super) fn reader(&self, json: bool) -> Reader {
        if json { Reader::Program } else { self.reader }
    }

    /// Writes an answer, ended by a line end.
    pub(super) fn answer(&self, text: impl fmt::Display) -> io::Result<()> {
        let mut stdout = self.stdout.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(stdout, "{text}")?;
        stdout.flush()
    }

    /// Writes an answer that has its own line end.
    pub(super) fn raw(&self, text: &[u8]) -> io::Result<()> {
        let mut stdout = self.stdout.lock().unwrap_or_else(PoisonError::into_inner);
        stdout.write_all(text)?;
        stdout.flush()
    }

    /// Writes beside an answer, dimly, without a line end; for a terminal. There is nobody to tell
    /// when that fails.
    pub(super) fn dim(&self, text: &str) {
        let mut stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        drop(write!(stderr, "\u{1b}[2m{text}\u{1b}[0m").and_then(|()| stderr.flush()));
    }

    /// Writes an error. There is nobody to tell when that fails.
    pub fn error(&self, text: impl fmt::Display) {
        let mut stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        drop(writeln!(stderr, "{text}"));
    }
}
