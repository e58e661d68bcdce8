//! What a process has used, as the kernel accounts it.

use std::{fs, io, time::Duration};

/// CPU time and peak memory of one process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// User and system time since its start.
    pub(super) cpu: Duration,
    /// Largest resident size since its start, in bytes.
    pub(super) peak_bytes: u64,
}

impl Usage {
    /// Of the process with this id, from `/proc`.
    pub(super) fn of(pid: u32) -> io::Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let unreadable = || io::Error::other(format!("/proc/{pid} is not what was expected"));
        Ok(Self {
            cpu: cpu_of(&stat).ok_or_else(unreadable)?,
            peak_bytes: peak_of(&status).ok_or_else(unreadable)?,
        })
    }

    /// What was used between `before` and this; the peak is that of the whole life.
    pub(super) const fn since(self, before: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(before.cpu),
            peak_bytes: self.peak_bytes,
        }
    }

    /// Of several processes together.
    pub(super) fn sum(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().fold(Self::default(), |sum, one| Self {
            cpu: sum.cpu + one.cpu,
            peak_bytes: sum.peak_bytes + one.peak_bytes,
        })
    }
}

/// Fields 14 and 15 of proc_pid_stat(5), in ticks of 10 ms. The name before them may hold spaces,
/// and ends with the last parenthesis.
fn cpu_of(stat: &str) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut ticks = fields.split_ascii_whitespace().skip(11);
    let (user, system): (u64, u64) = (ticks.next()?.parse().ok()?, ticks.next()?.parse().ok()?);
    Some(Duration::from_millis(10 * (user + system)))
}

fn peak_of(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_lines_are_read_whatever_the_process_is_called() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 150 25 0 0 20 0 1 0 5 1 1";
        assert_eq!(cpu_of(stat), Some(Duration::from_millis(1_750)));
        assert_eq!(
            peak_of("Name:\tx\nVmHWM:\t    2048 kB\n"),
            Some(2 * 1024 * 1024)
        );
        assert_eq!(peak_of("Name:\tx\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_a_size() {
        let usage = Usage::of(std::process::id()).expect("our own /proc");
        assert!(usage.peak_bytes > 0);
    }
}
