//! Which server answers, whether it will do, and what it guarantees.

use redis::Value;

use super::{super::StoreFault, answer, link::Link};

/// The oldest Redis whose scripts can do what ours do.
const OLDEST: (u32, u32) = (6, 2);

/// What a server keeps of its data when it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// It will not tell.
    Unknown,
    /// Nothing.
    None,
    /// What stood in the last snapshot; they are taken as `save` says.
    Snapshots(String),
    /// Every write that had reached the disk.
    AppendOnly(Fsync),
}

/// How soon a write of the append-only file is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fsync {
    /// It will not tell.
    Unknown,
    /// Before it is answered.
    Always,
    /// Within a second.
    EverySecond,
    /// When the system likes.
    Never,
}

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
    /// What it keeps when it ends.
    pub persistence: Persistence,
    /// `maxmemory` in bytes; zero for no limit.
    pub memory_max: Option<u64>,
    /// What it uses of that.
    pub memory_used: Option<u64>,
}

impl StoreReport {
    /// Whether it copies another server and takes no writes of its own.
    #[must_use]
    pub fn is_replica(&self) -> bool {
        self.role.as_deref().is_some_and(|role| role != "master")
    }

    /// Asks the server.
    ///
    /// # Errors
    /// [`StoreFault::Unsuitable`] when it is too old; otherwise as for any call.
    pub(super) async fn ask(link: &Link) -> Result<Self, StoreFault> {
        let info = link.command("info", &redis::cmd("INFO")).await?;
        let info = answer::text(&info).unwrap_or_default();
        let (server, version) = identify(info, &link.address())?;
        let number = |name| field(info, name)?.parse().ok();
        // Where a managed server forbids the question, its report tells most of it.
        let eviction = match setting(link, "maxmemory-policy").await {
            Some(policy) => Some(policy),
            None => field(info, "maxmemory_policy").map(Into::into),
        };
        Ok(Self {
            server,
            version: version.into(),
            role: field(info, "role").map(Into::into),
            eviction,
            persistence: persistence(link, info).await,
            memory_max: number("maxmemory"),
            memory_used: number("used_memory"),
        })
    }
}

async fn persistence(link: &Link, info: &str) -> Persistence {
    if field(info, "aof_enabled") == Some("1") {
        let fsync = setting(link, "appendfsync").await;
        return Persistence::AppendOnly(fsync.as_deref().map_or(Fsync::Unknown, fsync_of));
    }
    match setting(link, "save").await.as_deref() {
        Some("") => Persistence::None,
        Some(save) => Persistence::Snapshots(save.into()),
        None => Persistence::Unknown,
    }
}

fn fsync_of(setting: &str) -> Fsync {
    match setting {
        "always" => Fsync::Always,
        "everysec" => Fsync::EverySecond,
        "no" => Fsync::Never,
        _ => Fsync::Unknown,
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
