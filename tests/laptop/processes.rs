//! Which processes there are, as the kernel tells.

use std::{fs, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

/// How long the kernel and a loaded machine may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A process of a test's program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Child {
    pub(crate) pid: u32,
    /// Its command line, its arguments apart by spaces.
    pub(crate) command: String,
}

/// The processes that `parent` started and that have not ended.
pub(crate) fn children_of(parent: u32) -> Vec<Child> {
    let all = fs::read_dir("/proc").expect("the kernel's list");
    all.flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| standing(*pid).is_some_and(|(state, of)| of == parent && state != "Z"))
        .map(|pid| Child {
            pid,
            command: command_of(pid),
        })
        .collect()
}

/// Whether the process runs; one that only waits to be forgotten does not.
pub(crate) fn runs(pid: u32) -> bool {
    standing(pid).is_some_and(|(state, _)| state != "Z")
}

/// Its state, and who started it.
fn standing(pid: u32) -> Option<(String, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets, and may hold any character.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}

fn command_of(pid: u32) -> String {
    let raw = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&raw).replace('\0', " ")
}

pub(crate) fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a process id"), signal).expect("signalled");
}

/// Waits until `holds`, and fails with `what` when it does not come to that.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "it never came to this: {what}");
        sleep(Duration::from_millis(20)).await;
    }
}
