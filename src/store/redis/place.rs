//! Where the store is, as a URL says it.
//!
//! Owns the forms of that URL. Never: a connection.

use std::{fmt, str::FromStr};

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _};

/// Where a Sentinel listens unless its address says otherwise.
const SENTINEL_PORT: u16 = 26_379;

/// Where the store is: `redis://[user:password@]host[:port][/db]`, `rediss://` for TLS,
/// `unix:///path`, or the master that Sentinels name:
/// `redis+sentinel://[user:password@]host[:port],host[:port]/master[/db]`, `rediss+sentinel://`
/// for TLS to Sentinels and servers alike. The login is that of the servers.
///
/// It prints as the address alone, so that no password reaches a log.
#[derive(Clone)]
pub struct RedisUrl(pub(super) Place);

/// A text that is no Redis URL. It does not repeat the text, which may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRedisUrl {
    /// It has none of the forms.
    #[error("it is none of the forms, or a host, port or database in it cannot be read")]
    Form,
    /// It is written as other clients write it.
    #[error(
        "sentinels are written redis+sentinel://host[:port],host[:port]/master[/db], \
         with rediss+sentinel:// for TLS"
    )]
    OtherForm,
    /// It leads to Sentinels and does not say which of their masters is meant.
    #[error("the name of the master that the sentinels watch is missing behind their addresses")]
    NoMaster,
    /// No Sentinel watches a master of that name.
    #[error("the name of a master has only [A-Za-z0-9._-]")]
    MasterName,
}

/// What a URL leads to.
#[derive(Clone)]
pub(super) enum Place {
    Server(ConnectionInfo),
    Master(NamedMaster),
}

/// A master that Sentinels name.
#[derive(Clone, Debug)]
pub(super) struct NamedMaster {
    pub(super) sentinels: Vec<ConnectionAddr>,
    pub(super) name: Box<str>,
    /// Login, database and TLS of the servers; its address is nobody's.
    template: ConnectionInfo,
}

impl FromStr for RedisUrl {
    type Err = InvalidRedisUrl;

    fn from_str(raw: &str) -> Result<Self, InvalidRedisUrl> {
        let place = match raw.split_once("://") {
            Some(("redis+sentinel", rest)) => Place::Master(NamedMaster::parse("redis", rest)?),
            Some(("rediss+sentinel", rest)) => Place::Master(NamedMaster::parse("rediss", rest)?),
            Some((scheme, _)) if scheme.contains("sentinel") => {
                return Err(InvalidRedisUrl::OtherForm);
            }
            _ => Place::Server(connection_info(raw)?),
        };
        Ok(Self(place))
    }
}

fn connection_info(url: &str) -> Result<ConnectionInfo, InvalidRedisUrl> {
    url.into_connection_info()
        .map_err(|_| InvalidRedisUrl::Form)
}

impl NamedMaster {
    /// Reads what stands behind `scheme` and `+sentinel://`.
    fn parse(scheme: &str, rest: &str) -> Result<Self, InvalidRedisUrl> {
        // A password may hold a comma, a slash may not.
        let (login, places) = rest.rsplit_once('@').unwrap_or_default();
        let places = if login.is_empty() { rest } else { places };
        let (hosts, path) = places.split_once('/').ok_or(InvalidRedisUrl::NoMaster)?;
        let (name, database) = path.split_once('/').unwrap_or((path, ""));
        let template = connection_info(&format!("{scheme}://{login}@servers/{database}"))?;
        let sentinels = hosts
            .split(',')
            .map(|host| sentinel(host.trim(), &template));
        Ok(Self {
            sentinels: sentinels.collect::<Result<_, _>>()?,
            name: master_name(name)?.into(),
            template,
        })
    }

    /// How the server at this address is spoken to.
    pub(super) fn server(&self, host: String, port: u16) -> ConnectionInfo {
        let address = spoken_to_alike(&self.template, host, port);
        self.template.clone().set_addr(address)
    }
}

fn sentinel(host: &str, template: &ConnectionInfo) -> Result<ConnectionAddr, InvalidRedisUrl> {
    let url = redis::parse_redis_url(&format!("redis://{host}")).ok_or(InvalidRedisUrl::Form)?;
    let port = url.port().unwrap_or(SENTINEL_PORT);
    let info = url.into_connection_info();
    match info.map_err(|_| InvalidRedisUrl::Form)?.addr() {
        ConnectionAddr::Tcp(host, _) => Ok(spoken_to_alike(template, host.clone(), port)),
        _ => Err(InvalidRedisUrl::Form),
    }
}

/// That host and port, with TLS where `template` has it.
fn spoken_to_alike(template: &ConnectionInfo, host: String, port: u16) -> ConnectionAddr {
    match template.addr() {
        ConnectionAddr::TcpTls {
            insecure,
            tls_params,
            ..
        } => ConnectionAddr::TcpTls {
            host,
            port,
            insecure: *insecure,
            tls_params: tls_params.clone(),
        },
        _ => ConnectionAddr::Tcp(host, port),
    }
}

/// What Sentinel itself takes for a name.
fn master_name(name: &str) -> Result<&str, InvalidRedisUrl> {
    let clean = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    match name {
        "" => Err(InvalidRedisUrl::NoMaster),
        name if name.bytes().all(clean) => Ok(name),
        _ => Err(InvalidRedisUrl::MasterName),
    }
}

impl fmt::Display for NamedMaster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "master {} of sentinels ", self.name)?;
        for (at, sentinel) in self.sentinels.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{sentinel}")?;
        }
        Ok(())
    }
}

impl fmt::Display for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::Server(info) => info.addr().fmt(f),
            Place::Master(master) => master.fmt(f),
        }
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn master(url: &str) -> NamedMaster {
        match url.parse::<RedisUrl>().expect("valid").0 {
            Place::Master(master) => master,
            Place::Server(info) => panic!("{url} leads to {}", info.addr()),
        }
    }

    #[test]
    fn a_url_keeps_its_password_to_itself() {
        for (url, shown) in [
            ("redis://me:hunter2@db:6380/3", "db:6380"),
            (
                "redis+sentinel://me:hunter2@a,b:1/main",
                "master main of sentinels a:26379,b:1",
            ),
        ] {
            let url: RedisUrl = url.parse().expect("valid");
            assert_eq!(url.to_string(), shown);
            assert!(!format!("{url:?}").contains("hunter2"));
        }
    }

    #[test]
    fn sentinels_master_and_database_stand_in_one_url() {
        let main = master("redis+sentinel://me:a,b@s1:26380, s2 ,[::1]:5/main.db-1/3");
        let sentinels: Vec<_> = main.sentinels.iter().map(ToString::to_string).collect();
        assert_eq!(sentinels, ["s1:26380", "s2:26379", "::1:5"]);
        assert_eq!(&*main.name, "main.db-1");

        let server = main.server("10.0.0.7".into(), 6379);
        assert_eq!(server.addr().to_string(), "10.0.0.7:6379");
        let settings = server.redis_settings();
        assert_eq!(
            (settings.username(), settings.password(), settings.db()),
            (Some("me"), Some("a,b"), 3)
        );
    }

    #[test]
    fn tls_is_for_sentinels_and_servers_alike() {
        let main = master("rediss+sentinel://s1/main");
        let server = main.server("db".into(), 6379);
        for address in [&main.sentinels[0], server.addr()] {
            assert!(matches!(address, ConnectionAddr::TcpTls { .. }));
        }
        assert_eq!(server.redis_settings().password(), None);
    }

    #[test]
    fn what_is_no_url_is_refused_with_the_reason_and_without_its_text() {
        for (url, why) in [
            ("http://me:hunter2@db", InvalidRedisUrl::Form),
            ("redis+sentinel://s1,,s2/main", InvalidRedisUrl::Form),
            ("redis+sentinel://s1:x/main", InvalidRedisUrl::Form),
            ("redis+sentinel://s1/main/first", InvalidRedisUrl::Form),
            ("redis+sentinel://s1,s2", InvalidRedisUrl::NoMaster),
            ("redis+sentinel://s1,s2/", InvalidRedisUrl::NoMaster),
            ("redis+sentinel://s1/a%20b", InvalidRedisUrl::MasterName),
            ("redis-sentinel://s1,s2#main", InvalidRedisUrl::OtherForm),
            ("sentinel://s1;sentinel://s2", InvalidRedisUrl::OtherForm),
        ] {
            let refused = url.parse::<RedisUrl>().expect_err(url);
            assert_eq!(refused, why, "{url}");
            assert!(!refused.to_string().contains("hunter2"));
        }
    }
}
