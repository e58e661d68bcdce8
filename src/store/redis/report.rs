//! Which server answers, whether it will do, and what it guarantees.

use redis::Value;

use super::{super::StoreFault, answer, link::Link};

/// The oldest Redis whose scripts can do what ours do.
const OLDEST: (u32, u32) = (6, 2);

/// What a server says about itself; a setting is `None` where it will not tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreReport {
    /// `redis` or `valkey`.
    pub server: &'static str,
    /// Its version, as it prints it.
    pub version: String,
    /// `master`, or `slave` of another.
    pub role: Option<String>,
    /// `maxmemory-policy`: anything but `noeviction` loses claims and results under pressure.
    pub eviction: Option<String>,
    /// `appendonly`: whether writes survive a restart.
    pub append_only: Option<bool>,
    /// `appendfsync`: how soon a write is on the disk.
    pub fsync: Option<String>,
    /// `save`: when snapshots are taken; empty for never.
    pub snapshots: Option<String>,
}

impl StoreReport {
    /// Asks the server.
    ///
    /// # Errors
    /// [`StoreFault::Unsuitable`] when it is too old; otherwise as for any call.
    pub(super) async fn ask(link: &Link) -> Result<Self, StoreFault> {
        let info = link.command("info", &redis::cmd("INFO")).await?;
        let info = answer::text(&info).unwrap_or_default();
        let address = link.address();
        let (server, version) = identify(info, &address)?;
        let report = Self {
            server,
            version: version.into(),
            role: field(info, "role").map(Into::into),
            eviction: setting(link, "maxmemory-policy").await,
            append_only: setting(link, "appendonly").await.map(|it| it == "yes"),
            fsync: setting(link, "appendfsync").await,
            snapshots: setting(link, "save").await,
        };
        report.warn(&address);
        Ok(report)
    }

    fn warn(&self, address: &str) {
        match self.eviction.as_deref() {
            None => tracing::info!(address, "maxmemory-policy cannot be read"),
            Some("noeviction") => {}
            Some(policy) => tracing::warn!(
                address,
                policy,
                "maxmemory-policy evicts claims and results: set maxmemory-policy noeviction"
            ),
        }
        if self.append_only == Some(false) && self.snapshots.as_deref() == Some("") {
            tracing::warn!(
                address,
                "nothing is persisted: set appendonly yes, or a restart repeats work"
            );
        }
    }
}

fn identify<'i>(info: &'i str, address: &str) -> Result<(&'static str, &'i str), StoreFault> {
    // Valkey also names the Redis version with which it is compatible.
    if let Some(version) = field(info, "valkey_version") {
        return Ok(("valkey", version));
    }
    let version = field(info, "redis_version").unwrap_or("unknown");
    if release(version) >= Some(OLDEST) {
        return Ok(("redis", version));
    }
    let (major, minor) = OLDEST;
    Err(StoreFault::Unsuitable(format!(
        "redis at {address} has version {version}; the fleet needs {major}.{minor} or newer, or valkey"
    )))
}

fn release(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(|it| it.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

fn field<'i>(info: &'i str, name: &str) -> Option<&'i str> {
    let mut lines = info.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(value.trim())
}

/// A setting; managed servers often forbid the question.
async fn setting(link: &Link, name: &'static str) -> Option<String> {
    let mut command = redis::cmd("CONFIG");
    command.arg("GET").arg(name);
    let value = link.command("config_get", &command).await.ok()?;
    match answer::array(&value)? {
        [_, Value::BulkString(value)] => Some(String::from_utf8_lossy(value).into_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_server_is_refused_by_its_version_and_valkey_is_welcome() {
        let refused = identify("# Server\r\nredis_version:6.0.16\r\n", "db:6379");
        let words = refused.expect_err("too old").to_string();
        assert!(words.contains("6.0.16") && words.contains("6.2"), "{words}");
        assert!(identify("", "db:6379").is_err());

        assert_eq!(
            identify("redis_version:6.2.5\r\n", ""),
            Ok(("redis", "6.2.5"))
        );
        assert_eq!(
            identify("redis_version:10.0.0\r\n", ""),
            Ok(("redis", "10.0.0"))
        );
        let valkey = "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\n";
        assert_eq!(identify(valkey, ""), Ok(("valkey", "8.0.1")));
    }
}
