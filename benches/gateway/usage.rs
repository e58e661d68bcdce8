//! What processes use, as the kernel accounts it.

use std::{fmt, fs, time::Duration};

use super::Outcome;

/// CPU time since its start, and the memory it holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    cpu: Duration,
    resident_mib: f64,
}

impl Usage {
    pub(super) fn of(pid: u32) -> Outcome<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        Ok(Self {
            cpu: cpu_of(&stat).ok_or("no times in /proc/pid/stat")?,
            resident_mib: resident_of(&status).ok_or("no VmRSS in /proc/pid/status")?,
        })
    }
}

/// Fields 14 and 15 of proc_pid_stat(5), in ticks of 10 ms, behind the name in parentheses.
fn cpu_of(stat: &str) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut ticks = fields.split_ascii_whitespace().skip(11);
    let (user, system): (u64, u64) = (ticks.next()?.parse().ok()?, ticks.next()?.parse().ok()?);
    Some(Duration::from_millis(10 * (user + system)))
}

fn resident_of(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1_024.0)
}

/// What each process of the fleet uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct FleetUsage {
    pub(super) gateway: Usage,
    pub(super) nats: Usage,
    pub(super) redis: Usage,
}

impl FleetUsage {
    /// The CPU time since `before`, the memory as it is.
    pub(super) fn since(&self, before: &Self) -> Self {
        let since = |now: Usage, before: Usage| Usage {
            cpu: now.cpu.saturating_sub(before.cpu),
            ..now
        };
        Self {
            gateway: since(self.gateway, before.gateway),
            nats: since(self.nats, before.nats),
            redis: since(self.redis, before.redis),
        }
    }
}

impl fmt::Display for FleetUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            ("gateway", self.gateway),
            ("nats", self.nats),
            ("redis", self.redis),
        ];
        for (name, Usage { cpu, resident_mib }) in all {
            let cpu = cpu.as_secs_f64();
            write!(f, "{name} {cpu:.2} s of CPU, {resident_mib:.0} MiB  ")?;
        }
        Ok(())
    }
}
