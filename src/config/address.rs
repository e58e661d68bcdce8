//! Where things are. A login that stands in an address is never shown.

use std::{fmt, net::SocketAddr, str::FromStr};

use url::Url;

use super::{
    setting::{Raw, Setting, by_text},
    value::MASK,
};
use crate::store::redis::RedisUrl;

/// The servers of a NATS cluster. Logins that stand in an address are never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct NatsUrls(Vec<Box<str>>);

impl NatsUrls {
    /// Each address, with any login that stands in it.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|url| &**url)
    }
}

impl fmt::Display for NatsUrls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_logins(&self.0.join(",")))
    }
}

impl fmt::Debug for NatsUrls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Setting for NatsUrls {
    const KIND: &'static str = "addresses";

    fn allowed() -> String {
        "nats://host:port, tls://, ws:// or wss://, several joined by commas".to_owned()
    }

    fn parse(raw: &Raw) -> Result<Self, String> {
        let text = raw.text()?;
        let url = |one: &str| {
            // `host:port` alone is how people write it.
            let whole = match one.trim() {
                one if one.contains("://") => one.to_owned(),
                one => format!("nats://{one}"),
            };
            check_url(&whole, &["nats", "tls", "ws", "wss"]).map(|()| whole.into())
        };
        text.split(',').map(url).collect::<Result<_, _>>().map(Self)
    }

    fn shown(text: &str) -> String {
        without_logins(text)
    }
}

impl Setting for RedisUrl {
    const KIND: &'static str = "address";

    fn allowed() -> String {
        "redis://host:port/database, rediss:// for TLS, unix:///path, or the master that \
         sentinels name: redis+sentinel://host:port,host:port/master/database, \
         rediss+sentinel:// for TLS"
            .to_owned()
    }

    fn parse(raw: &Raw) -> Result<Self, String> {
        by_text(raw)
    }

    fn shown(text: &str) -> String {
        without_logins(text)
    }
}

fn check_url(text: &str, schemes: &[&str]) -> Result<(), String> {
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    if !schemes.contains(&url.scheme()) {
        return Err(format!("{:?} is another protocol", url.scheme()));
    }
    match url.host_str() {
        None | Some("") => Err("the host is missing".to_owned()),
        Some(_) => Ok(()),
    }
}

/// The same addresses with whatever stands before an `@` masked: a user name alone may be a token,
/// and a password may hold a comma.
fn without_logins(text: &str) -> String {
    let masked = |part: &str| match part.rsplit_once('@') {
        Some((_, place)) => format!("{MASK}@{place}"),
        None => part.to_owned(),
    };
    text.split("://")
        .map(masked)
        .collect::<Vec<_>>()
        .join("://")
}

/// Where something is served, if at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// Nowhere.
    Off,
    /// There; port 0 takes a free one.
    At(SocketAddr),
}

impl Setting for Offered {
    const KIND: &'static str = "address";

    fn allowed() -> String {
        "address:port, such as 0.0.0.0:9464, or off".to_owned()
    }

    fn parse(raw: &Raw) -> Result<Self, String> {
        match raw.text()? {
            "off" => Ok(Self::Off),
            _ => by_text(raw).map(Self::At),
        }
    }
}

impl Setting for SocketAddr {
    const KIND: &'static str = "address";

    fn allowed() -> String {
        "address:port, such as 0.0.0.0:8080".to_owned()
    }

    fn parse(raw: &Raw) -> Result<Self, String> {
        by_text(raw)
    }
}

/// Where something is found over HTTP; it holds no login, no query, and no slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpUrl(Box<str>);

impl HttpUrl {
    /// The address as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for HttpUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        check_url(text, &["http", "https"])?;
        let url = Url::parse(text).map_err(|error| error.to_string())?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("a login stands in it".to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("something stands behind its path".to_owned());
        }
        Ok(Self(text.trim_end_matches('/').into()))
    }
}

impl Setting for HttpUrl {
    const KIND: &'static str = "address";

    fn allowed() -> String {
        "http://host:port or https://, without login or query".to_owned()
    }

    fn parse(raw: &Raw) -> Result<Self, String> {
        by_text(raw)
    }
}

impl Setting for Vec<HttpUrl> {
    const KIND: &'static str = "addresses";

    fn allowed() -> String {
        format!("{}, several joined by commas", HttpUrl::allowed())
    }

    fn parse(raw: &Raw) -> Result<Self, String> {
        let items = raw.items()?;
        items.into_iter().map(|it| it.trim().parse()).collect()
    }
}
