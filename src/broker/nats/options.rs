//! How a process connects to NATS.

use std::{fmt, path::PathBuf, time::Duration};

use async_nats::{Client, ConnectOptions, Event, ServerAddr};
use percent_encoding::percent_decode_str;
use tokio::{sync::mpsc, time::timeout};

use super::{super::BrokerFault, incident::Observer};
use crate::{broker::topology::TopologyOptions, clock::Chance, contract::Subjects};

/// A server that has not answered by then is not there.
const CONNECT_BOUND: Duration = Duration::from_secs(5);

/// A half-open connection is noticed after two of these.
const PING_EVERY: Duration = Duration::from_secs(10);

/// Longest wait between two attempts to reconnect.
const RECONNECT_DELAY_MAX: Duration = Duration::from_secs(2);

/// Messages that may wait in a subscription. Deliveries are bounded by demand and replies by calls
/// in flight; beyond this a message is dropped and [`super::Incident::SlowConsumer`] reported.
const SUBSCRIPTION_CAPACITY: usize = 262_144;

/// How a process proves who it is.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum NatsAuth {
    /// Not at all, or by what the URL holds.
    #[default]
    None,
    /// User and password.
    UserPassword {
        /// The user.
        user: String,
        /// The password.
        password: String,
    },
    /// A token.
    Token(String),
    /// The seed of an nkey.
    NKey(String),
    /// A credentials file, with a JWT and an nkey.
    CredentialsFile(PathBuf),
}

impl fmt::Debug for NatsAuth {
    /// Names the way, never the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::UserPassword { .. } => "UserPassword",
            Self::Token(_) => "Token",
            Self::NKey(_) => "NKey",
            Self::CredentialsFile(_) => "CredentialsFile",
        })
    }
}

/// Which TLS a connection uses; a `tls://` URL alone asks for it as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NatsTls {
    /// Refuse a server without TLS.
    pub required: bool,
    /// Begin with the TLS handshake, before the server's greeting.
    pub first: bool,
    /// Root certificates beside the system's.
    pub root_certificates: Option<PathBuf>,
    /// Our own certificate and its key.
    pub client_certificate: Option<(PathBuf, PathBuf)>,
}

/// Everything about the connections of a process.
#[derive(Clone)]
pub struct NatsOptions {
    /// The servers, each `nats://host:port`. List all of them: discovered ones are not remembered.
    pub urls: Vec<String>,
    /// Who we are.
    pub auth: NatsAuth,
    /// TLS.
    pub tls: NatsTls,
    /// A name behind `_INBOX.` for the answers to this process; that of the process alone if none.
    pub inbox: Option<String>,
    /// The fleet's subjects.
    pub subjects: Subjects,
    /// The process's role, in the connections' names.
    pub role: &'static str,
    /// The process's id, in the connections' names and its inboxes.
    pub worker: String,
    /// What the streams are like.
    pub topology: TopologyOptions,
    /// Jitter of reconnects and of retried pulls.
    pub chance: Chance,
    /// Is told what happens to the connections.
    pub observer: Observer,
}

impl fmt::Debug for NatsOptions {
    /// Without URLs, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsOptions")
            .field("auth", &self.auth)
            .field("tls", &self.tls)
            .field("subjects", &self.subjects)
            .field("role", &self.role)
            .field("worker", &self.worker)
            .field("topology", &self.topology)
            .finish_non_exhaustive()
    }
}

impl NatsOptions {
    /// Options with everything at its default but the server and the process's name.
    #[must_use]
    pub fn new(url: impl Into<String>, role: &'static str, worker: impl Into<String>) -> Self {
        Self {
            urls: vec![url.into()],
            auth: NatsAuth::None,
            tls: NatsTls::default(),
            inbox: None,
            subjects: Subjects::default(),
            role,
            worker: worker.into(),
            topology: TopologyOptions::default(),
            chance: Chance::system(),
            observer: Observer::default(),
        }
    }

    /// The servers without what their URLs may hold of secrets.
    pub(super) fn address(&self) -> String {
        let host = |url: &String| match url.parse::<ServerAddr>() {
            Ok(server) => format!("{}:{}", server.host(), server.port()),
            Err(_) => "an invalid url".to_owned(),
        };
        self.urls.iter().map(host).collect::<Vec<_>>().join(", ")
    }

    /// Everything that is answered to this process is answered under here, so that the server's
    /// permissions can keep other processes from reading it.
    fn inbox_prefix(&self) -> String {
        let token = |c: char| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        };
        let names = self.inbox.iter().chain([&self.worker]);
        names.fold("_INBOX".to_owned(), |mut prefix, name| {
            prefix.push('.');
            prefix.extend(name.chars().map(token));
            prefix
        })
    }

    /// A subject under which only this process is answered.
    pub(super) fn new_inbox(&self) -> String {
        format!("{}.{:032x}", self.inbox_prefix(), self.chance.bits128())
    }

    /// Connects for one use. `events` hears what happens to the connection and is closed when it
    /// has died for good.
    pub(super) async fn connect(
        &self,
        usage: &'static str,
        events: mpsc::Sender<Event>,
    ) -> Result<Client, BrokerFault> {
        let unreachable = |reason: String| BrokerFault::Unreachable {
            address: self.address(),
            reason,
        };
        let servers = self.servers().map_err(&unreachable)?;
        let options = self
            .connect_options(usage, events)
            .await
            .map_err(&unreachable)?;
        match timeout(CONNECT_BOUND, options.connect(servers)).await {
            Ok(Ok(client)) => Ok(client),
            Ok(Err(error)) => Err(unreachable(error.to_string())),
            Err(_) => Err(unreachable(format!(
                "no answer within {}",
                humantime::format_duration(CONNECT_BOUND)
            ))),
        }
    }

    fn servers(&self) -> Result<Vec<ServerAddr>, String> {
        let parse = |url: &String| url.parse().map_err(|_| "the url is invalid".to_owned());
        self.urls.iter().map(parse).collect()
    }

    async fn connect_options(
        &self,
        usage: &'static str,
        events: mpsc::Sender<Event>,
    ) -> Result<ConnectOptions, String> {
        let name = format!("puruto/{}/{}/{usage}", self.role, self.worker);
        let chance = self.chance.clone();
        let options = ConnectOptions::new()
            .name(name)
            .custom_inbox_prefix(self.inbox_prefix())
            .connection_timeout(CONNECT_BOUND)
            .ping_interval(PING_EVERY)
            .subscription_capacity(SUBSCRIPTION_CAPACITY)
            .reconnect_delay_callback(move |attempt| reconnect_delay(attempt, &chance))
            .event_callback(move |event| {
                let events = events.clone();
                async move {
                    // Nobody listens any more once the connection is given up.
                    events.send(event).await.ok();
                }
            });
        self.authenticated(self.with_tls(options)).await
    }

    fn with_tls(&self, mut options: ConnectOptions) -> ConnectOptions {
        options = options.require_tls(self.tls.required);
        if self.tls.first {
            options = options.tls_first();
        }
        if let Some(path) = &self.tls.root_certificates {
            options = options.add_root_certificates(path.clone());
        }
        if let Some((certificate, key)) = &self.tls.client_certificate {
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        options
    }

    /// The client library reads no login from an address.
    fn with_login_of_url(&self, options: ConnectOptions) -> ConnectOptions {
        let mut servers = self.urls.iter().filter_map(|url| url.parse().ok());
        match servers.find_map(|server| login(&server)) {
            None => options,
            Some((user, Some(password))) => options.user_and_password(user, password),
            Some((token, None)) => options.token(token),
        }
    }

    async fn authenticated(&self, options: ConnectOptions) -> Result<ConnectOptions, String> {
        match &self.auth {
            NatsAuth::None => Ok(self.with_login_of_url(options)),
            NatsAuth::UserPassword { user, password } => {
                Ok(options.user_and_password(user.clone(), password.clone()))
            }
            NatsAuth::Token(token) => Ok(options.token(token.clone())),
            NatsAuth::NKey(seed) => Ok(options.nkey(seed.clone())),
            NatsAuth::CredentialsFile(path) => {
                let unreadable = |error| format!("credentials file {}: {error}", path.display());
                options.credentials_file(path).await.map_err(unreadable)
            }
        }
    }
}

/// User and password as they stand in an address, or a token alone.
fn login(server: &ServerAddr) -> Option<(String, Option<String>)> {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    Some((decoded(server.username()?), server.password().map(decoded)))
}

/// The first attempt comes at once, since most breaks are a restart of one server of several.
fn reconnect_delay(attempt: usize, chance: &Chance) -> Duration {
    if attempt <= 1 {
        return Duration::ZERO;
    }
    let doublings = u32::try_from(attempt).unwrap_or(u32::MAX).min(8);
    let exponential = Duration::from_millis(25) * 2_u32.pow(doublings);
    chance.around(exponential.min(RECONNECT_DELAY_MAX), 0.3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_printed() {
        let mut options = NatsOptions::new("nats://me:s3cret@example.org:4222", "worker", "w.1");
        options.auth = NatsAuth::Token("s3cret".into());
        assert!(!format!("{options:?}").contains("s3cret"));
        assert_eq!(options.address(), "example.org:4222");
    }

    #[test]
    fn a_login_is_read_from_an_address_as_it_was_meant() {
        let login_in = |url: &str| login(&url.parse().unwrap());
        let pair = Some(("me".to_owned(), Some("p@ss".to_owned())));
        assert_eq!(login_in("nats://me:p%40ss@example.org"), pair);
        assert_eq!(
            login_in("tls://t0ken@example.org"),
            Some(("t0ken".into(), None))
        );
        assert_eq!(login_in("nats://example.org:4222"), None);
    }

    #[test]
    fn a_worker_id_is_one_token_of_its_inbox() {
        let mut options = NatsOptions::new("localhost", "worker", "host.example *>");
        assert_eq!(options.inbox_prefix(), "_INBOX.host_example___");
        options.inbox = Some("a.b".into());
        assert_eq!(options.inbox_prefix(), "_INBOX.a_b.host_example___");
    }

    #[test]
    fn reconnects_back_off_to_a_bound() {
        let chance = Chance::seeded(1);
        assert_eq!(reconnect_delay(1, &chance), Duration::ZERO);
        for attempt in 2..100 {
            let delay = reconnect_delay(attempt, &chance);
            assert!(
                delay <= RECONNECT_DELAY_MAX.mul_f64(1.3),
                "{attempt}: {delay:?}"
            );
        }
    }
}
