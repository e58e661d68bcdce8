//! One address of a provider: the connections to it, and the key it wants.
//!
//! Never: a provider's wire form, or the key in anything but the one header.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    HeaderMap, Method, Request, StatusCode, Uri,
    header::{
        ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue,
        PROXY_AUTHORIZATION, RETRY_AFTER, USER_AGENT,
    },
};
use url::Url;

use super::{
    Payload, Reply,
    network::Network,
    transport::{ACCEPTED_ENCODING, Body, HostPool, Limits, Permit, Route, exchange},
};
use crate::{
    clock::Clock,
    runtime::{
        Fault,
        config::{Authorization, Mistake},
        fault::HttpStatus,
        observe, retry_after,
    },
};

const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

#[derive(Debug)]
pub(super) struct Endpoint {
    url: Url,
    target: Uri,
    headers: HeaderMap,
    route: Route,
    pool: HostPool,
    limits: Limits,
    clock: Clock,
}

/// The head of a response, and its body unread.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: HttpStatus,
    pub(super) headers: HeaderMap,
    /// How long the server asks to be left alone.
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Body,
}

impl Response {
    /// A redirect is no success: following it would hand the key on.
    pub(super) fn is_success(&self) -> bool {
        StatusCode::from_u16(self.status.0).is_ok_and(|status| status.is_success())
    }

    /// All of a success; of a refusal the beginning.
    ///
    /// # Errors
    /// The success is longer than the endpoint's cap, or its body broke.
    pub(super) async fn read(self) -> Result<HttpReply, Fault> {
        let body = if self.is_success() {
            self.body.whole().await?
        } else {
            self.body.beginning().await
        };
        Ok(HttpReply {
            status: self.status,
            retry_after: self.retry_after,
            body,
        })
    }
}

/// A response with its body, which of a refusal may be only the beginning.
#[derive(Debug)]
pub(super) struct HttpReply {
    pub(super) status: HttpStatus,
    /// How long the server asks to be left alone.
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Vec<u8>,
}

impl From<HttpReply> for Reply {
    fn from(reply: HttpReply) -> Self {
        Self::Body {
            bytes: reply.body,
            retry_after: reply.retry_after,
        }
    }
}

impl Endpoint {
    /// The endpoint of `provider` at `url`, reached over `network`.
    ///
    /// # Errors
    /// An address that HTTP cannot carry, or TLS on a machine that trusts no certificate.
    pub(super) fn new(
        provider: &'static str,
        url: Url,
        authorization: Option<&Authorization>,
        limits: Limits,
        network: &Network<'_>,
    ) -> Result<Self, Mistake> {
        let mistake = |why: String| Mistake::new("base_url", url.as_str(), why);
        let unfit = |error: hyper::http::uri::InvalidUri| mistake(error.to_string());
        let origin: Uri = url.origin().ascii_serialization().parse().map_err(unfit)?;
        let route = network
            .route(origin)
            .map_err(|error| mistake(format!("no tls can be had on this machine: {error}")))?;
        let target = if route.proxy_reads() {
            url.as_str()
        } else {
            url.path()
        };
        let target = target.parse().map_err(unfit)?;
        let headers = headers(&url, authorization, &route)
            .map_err(|error| mistake(format!("no header can carry it: {error}")))?;
        let pool = network.pool(provider, &route);
        Ok(Self {
            url,
            target,
            headers,
            route,
            pool,
            limits,
            clock: network.clock(),
        })
    }

    pub(super) fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// Host and port.
    pub(super) fn host(&self) -> &str {
        self.url.authority()
    }

    /// The host alone.
    pub(super) fn address(&self) -> Option<&str> {
        self.url.host_str()
    }

    pub(super) fn port(&self) -> Option<u16> {
        self.url.port_or_known_default()
    }

    pub(super) const fn pool(&self) -> &HostPool {
        &self.pool
    }

    pub(super) const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Sends `payload` once, under `permit`, which the response's body holds until it is read.
    ///
    /// # Errors
    /// There was no connection, or no response over it in time.
    pub(super) async fn post(&self, payload: &Payload, permit: Permit) -> Result<Response, Fault> {
        let mut request = Request::new(Full::<Bytes>::new(payload.0.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.target.clone();
        *request.headers_mut() = self.headers.clone();
        let rules = self.pool.rules();
        observe::requested(self.url.as_str());
        let answered = exchange(request, permit, &self.route, rules, &self.limits).await?;
        let status = HttpStatus(answered.head.status.as_u16());
        observe::responded(status);
        Ok(Response {
            status,
            retry_after: self.retry_after(&answered.head.headers),
            headers: answered.head.headers,
            body: answered.body,
        })
    }

    fn retry_after(&self, headers: &HeaderMap) -> Option<Duration> {
        let values = |name| {
            let all = headers.get_all(name).into_iter();
            all.filter_map(|value: &HeaderValue| value.to_str().ok())
        };
        retry_after::read(
            values(RETRY_AFTER),
            values(RETRY_AFTER_MS),
            self.clock.now(),
        )
    }
}

/// The same for every request.
fn headers(
    url: &Url,
    authorization: Option<&Authorization>,
    route: &Route,
) -> Result<HeaderMap, hyper::http::Error> {
    const AGENT: &str = concat!("puruto-fleet/", env!("CARGO_PKG_VERSION"));
    let mut headers = HeaderMap::new();
    headers.insert(HOST, HeaderValue::try_from(url.authority())?);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(ACCEPTED_ENCODING));
    if let Some(authorization) = authorization {
        headers.insert(AUTHORIZATION, authorization.header().clone());
    }
    if let Some(login) = route.proxy_login().filter(|_| route.proxy_reads()) {
        headers.insert(PROXY_AUTHORIZATION, login);
    }
    Ok(headers)
}
