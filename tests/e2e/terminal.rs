//! Verbs of `puruto`, run as a script would: arguments in, JSON lines and an exit code out.

use std::{path::Path, process::Stdio};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines},
    process::{Child, ChildStderr, ChildStdout, Command},
};

use crate::{
    patience::within,
    support::{guard, ours_that_configure},
};

/// A verb that runs; dropping it kills it.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    output: Lines<BufReader<ChildStdout>>,
    errors: ChildStderr,
    said: String,
}

/// How a verb ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl Running {
    /// Begins a verb in `folder` with these variables and none of ours.
    pub(crate) async fn begin(
        folder: &Path,
        variables: &[(String, String)],
        arguments: &[&str],
    ) -> Self {
        let (verb, rest) = arguments.split_first().expect("a verb");
        let mut command = Command::from(guard().verb(verb));
        for name in ours_that_configure() {
            command.env_remove(name);
        }
        command
            .args(rest)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().expect("a process");
        let output = child.stdout.take().expect("its output");
        Self {
            output: BufReader::new(output).lines(),
            errors: child.stderr.take().expect("its errors"),
            said: arguments.join(" "),
            child,
        }
    }

    /// The next line that it prints, read as JSON.
    pub(crate) async fn line(&mut self) -> Value {
        let what = format!("puruto {} prints a line", self.said);
        let line = within(&what, self.output.next_line()).await;
        let line = line.expect("text").expect("a line, not the end");
        serde_json::from_str(&line).expect("JSON")
    }

    /// Waits for its end.
    pub(crate) async fn ended(mut self) -> Ended {
        let ended = async {
            let mut output = String::new();
            while let Some(line) = self.output.next_line().await.expect("text") {
                output.push_str(&line);
                output.push('\n');
            }
            let mut errors = String::new();
            let read = self.errors.read_to_string(&mut errors).await;
            read.expect("text");
            let status = self.child.wait().await.expect("a status");
            Ended {
                code: status.code().expect("a code"),
                output,
                errors,
            }
        };
        within(&format!("puruto {} ends", self.said), ended).await
    }
}

impl Ended {
    /// The one line of JSON that it printed.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.output.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.output).expect("JSON")
    }
}
