//! Runs a short-lived command to its end, within a bound.

use std::{process::Stdio, time::Duration};

use tokio::process::Command;

/// How many of a failed command's last lines are shown.
const LAST_WORDS: usize = 3;

/// What `command` printed, on standard output and error together, when it succeeded `within` that
/// time; else why not, for a person to read. It is killed when it takes longer.
///
/// # Errors
///
/// It cannot be started, fails, or takes too long.
pub async fn run(mut command: Command, within: Duration) -> Result<String, String> {
    let name = command
        .as_std()
        .get_program()
        .to_string_lossy()
        .into_owned();
    let running = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let output = match tokio::time::timeout(within, running).await {
        Ok(ended) => ended.map_err(|error| format!("{name}: {error}"))?,
        Err(_) => return Err(format!("{name} took longer than {within:?}")),
    };
    let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
    printed.push_str(&String::from_utf8_lossy(&output.stderr));
    if output.status.success() {
        return Ok(printed);
    }
    let mut why = format!("{name}: {}", output.status);
    for word in last_lines(&printed, LAST_WORDS).lines() {
        why.push_str(" / ");
        why.push_str(word);
    }
    Err(why)
}

/// The last `count` lines of `text` that are not blank.
pub(super) fn last_lines(text: &str, count: usize) -> String {
    let mut lines: Vec<&str> = text
        .lines()
        .rev()
        .filter(|line| !line.trim().is_empty())
        .take(count)
        .collect();
    lines.reverse();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(script);
        command
    }

    #[tokio::test]
    async fn a_failed_command_says_how_it_ended_and_its_last_words() {
        let script = "echo one; echo two; echo three; echo four >&2; exit 3";
        let failed = run(shell(script), Duration::from_secs(10)).await;
        let why = failed.expect_err("exit 3");
        assert_eq!(why, "/bin/sh: exit status: 3 / two / three / four");
    }

    #[tokio::test]
    async fn a_command_that_takes_too_long_is_given_up() {
        let hanging = run(shell("exec sleep 60"), Duration::from_millis(50)).await;
        assert_eq!(hanging, Err("/bin/sh took longer than 50ms".to_owned()));
    }
}
