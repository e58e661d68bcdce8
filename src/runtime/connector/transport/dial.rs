//! How a fresh connection is made: name, TCP, a proxy if one stands between, TLS.
//!
//! Never: a time-out of its own beyond the one that lets the next of several addresses be tried.

use std::{
    error::Error,
    fmt,
    future::poll_fn,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_util::future::BoxFuture;
use hyper::{Uri, header::HeaderValue};
use hyper_rustls::HttpsConnector;
use hyper_util::{
    client::{
        legacy::connect::{
            HttpConnector,
            dns::{GaiAddrs, GaiFuture, GaiResolver, Name},
            proxy::Tunnel,
        },
        proxy::matcher::Intercept,
    },
    rt::TokioIo,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tower_service::Service;

use super::{pool::Origin, pools::Pools, tls::Tls};

/// After how long without a word the operating system asks whether the other side still lives.
const TCP_KEEP_ALIVE: Duration = Duration::from_secs(30);

/// Bytes in both directions, however they travel.
pub(in crate::runtime::connector) trait Stream:
    AsyncRead + AsyncWrite + Send + Unpin
{
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

pub(super) type Undialled = Box<dyn Error + Send + Sync>;

/// Makes fresh connections to one place.
pub(in crate::runtime::connector) trait Dial:
    fmt::Debug + Send + Sync
{
    /// # Errors
    /// Why there is no connection.
    fn dial(&self) -> BoxFuture<'_, Result<Box<dyn Stream>, Undialled>>;
}

/// The way to one origin, over the network.
#[derive(Clone)]
pub(in crate::runtime::connector) struct Route {
    to: Uri,
    proxy: Option<Intercept>,
    tcp: HttpConnector<Resolver>,
    tls: Option<Tls>,
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proxy = self.proxy.as_ref().map(Intercept::uri);
        write!(f, "Route({} over {proxy:?})", self.to)
    }
}

impl Route {
    /// The way to `to`, over `proxy` if there is one, as `pools` have it.
    ///
    /// # Errors
    /// TLS is needed and cannot be had.
    pub(in crate::runtime::connector) fn new(
        to: Uri,
        proxy: Option<Intercept>,
        pools: &Pools,
    ) -> Result<Self, rustls::Error> {
        let mut tcp = HttpConnector::new_with_resolver(Resolver(GaiResolver::new()));
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(TCP_KEEP_ALIVE));
        // Shared out among the addresses of a name: one that is silent leaves time for the next.
        tcp.set_connect_timeout(Some(pools.rules().connect_timeout));
        let secure = |uri: &Uri| uri.scheme_str() == Some("https");
        let needs_tls = secure(&to) || proxy.as_ref().is_some_and(|it| secure(it.uri()));
        let tls = needs_tls.then(|| pools.tls()).transpose()?;
        Ok(Self {
            to,
            proxy,
            tcp,
            tls,
        })
    }

    /// What connections over this way have in common.
    pub(in crate::runtime::connector) fn origin(&self) -> Origin {
        match &self.proxy {
            Some(proxy) => Origin::new(&format!("{} over {}", self.to, proxy.uri())),
            None => Origin::new(&self.to.to_string()),
        }
    }

    /// Whether the proxy reads the requests, as it does unless they are encrypted; then it is told
    /// whole addresses, and its own login.
    pub(in crate::runtime::connector) fn proxy_reads(&self) -> bool {
        self.proxy.is_some() && self.to.scheme_str() == Some("http")
    }

    /// The login to the proxy.
    pub(in crate::runtime::connector) fn proxy_login(&self) -> Option<HeaderValue> {
        let mut login = self.proxy.as_ref()?.basic_auth()?.clone();
        login.set_sensitive(true);
        Some(login)
    }

    async fn connect(&self) -> Result<Box<dyn Stream>, Undialled> {
        let next = self.proxy.as_ref().map_or(&self.to, Intercept::uri);
        let Some(tls) = &self.tls else {
            let tcp = call(self.tcp.clone(), next).await?;
            return Ok(Box::new(tcp.into_inner()));
        };
        let secure = HttpsConnector::from((self.tcp.clone(), tls.config()));
        if self.proxy.is_none() || self.proxy_reads() {
            return Ok(Box::new(TokioIo::new(call(secure, next).await?)));
        }
        let mut tunnel = Tunnel::new(next.clone(), secure);
        if let Some(login) = self.proxy_login() {
            tunnel = tunnel.with_auth(login);
        }
        let through = HttpsConnector::from((tunnel, tls.config()));
        Ok(Box::new(TokioIo::new(call(through, &self.to).await?)))
    }
}

impl Dial for Route {
    fn dial(&self) -> BoxFuture<'_, Result<Box<dyn Stream>, Undialled>> {
        Box::pin(self.connect())
    }
}

async fn call<C: Service<Uri>>(mut connector: C, to: &Uri) -> Result<C::Response, C::Error> {
    poll_fn(|context| connector.poll_ready(context)).await?;
    connector.call(to.clone()).await
}

/// A name that leads nowhere; tells failures of names from those of connections.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unresolved(#[source] io::Error);

/// The system's resolver.
#[derive(Clone)]
struct Resolver(GaiResolver);

struct Resolving(GaiFuture);

impl Service<Name> for Resolver {
    type Response = GaiAddrs;
    type Error = Unresolved;
    type Future = Resolving;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Unresolved>> {
        self.0.poll_ready(context).map_err(Unresolved)
    }

    fn call(&mut self, name: Name) -> Resolving {
        Resolving(self.0.call(name))
    }
}

impl Future for Resolving {
    type Output = Result<GaiAddrs, Unresolved>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let resolved = ready!(Pin::new(&mut self.0).poll(context));
        Poll::Ready(resolved.map_err(Unresolved))
    }
}
