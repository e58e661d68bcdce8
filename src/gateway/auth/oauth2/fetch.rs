//! An issuer's keys over HTTP: found by its metadata, or where the configuration says.
//!
//! Never: over a line on which others could hand out keys of their own, after a redirect, or more
//! than a bounded answer.

use std::time::Duration;

use reqwest::{Client, StatusCode, redirect};
use serde::Deserialize;
use url::{Host, Url};

use super::{claims::same_issuer, keeper::KeySource, key::SigningKeys};
use crate::{config::HttpUrl, runtime::connector::transport::install_tls};

/// How long one answer may take.
const GET_MAX: Duration = Duration::from_secs(5);
/// How long it all may take: two places for metadata, then the keys.
pub(super) const FETCH_MAX: Duration = GET_MAX.saturating_mul(3);
/// Longest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 256 * 1024;

const OPENID: &str = "/.well-known/openid-configuration";
const OAUTH: &str = "/.well-known/oauth-authorization-server";

/// Why an issuer's keys cannot be fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchFault {
    /// Whoever stands between could hand out keys of their own.
    #[error("{0} is neither https:// nor on this machine: its answers could be anybody's")]
    Open(String),
    /// No client.
    #[error("cannot ask over http: {0}")]
    Client(String),
    /// No answer, or half of one.
    #[error("no answer from {url}: {why}")]
    NoAnswer {
        /// Where.
        url: String,
        /// What the client says.
        why: String,
    },
    /// Another answer.
    #[error("{url} answered {status}")]
    Status {
        /// Where.
        url: String,
        /// Which.
        status: u16,
    },
    /// Too much.
    #[error("{0} answered more than {ANSWER_BYTES_MAX} bytes")]
    TooLong(String),
    /// No metadata as RFC 8414 has it.
    #[error("{0} answered no metadata with `issuer` and `jwks_uri`")]
    NoMetadata(String),
    /// Metadata of somebody else.
    #[error("{0} answered for another issuer: gateway.oauth_issuer must be what its tokens say")]
    OtherIssuer(String),
    /// No key that can check a token.
    #[error("{0} answered no set of keys for RS256, PS256, ES256 or EdDSA")]
    NoKeys(String),
}

/// An issuer on the network.
#[derive(Clone, Debug)]
pub(in crate::gateway::auth) struct HttpSource {
    client: Client,
    issuer: HttpUrl,
    jwks: Option<Url>,
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

impl HttpSource {
    pub(super) fn new(issuer: HttpUrl, jwks: Option<HttpUrl>) -> Result<Self, FetchFault> {
        trusted(issuer.as_str())?;
        let jwks = jwks.map(|jwks| trusted(jwks.as_str())).transpose()?;
        install_tls();
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .timeout(GET_MAX)
            .build()
            .map_err(|error| FetchFault::Client(error.to_string()))?;
        Ok(Self {
            client,
            issuer,
            jwks,
        })
    }

    /// Where the issuer's metadata says that its keys are.
    async fn discover(&self) -> Result<Url, FetchFault> {
        let openid = format!("{}{OPENID}", self.issuer);
        match self.metadata(openid).await {
            // An issuer that knows no OpenID has its metadata elsewhere.
            Err(FetchFault::Status { .. }) => {
                let mut oauth = trusted(self.issuer.as_str())?;
                let path = oauth.path().trim_end_matches('/').to_owned();
                oauth.set_path(&format!("{OAUTH}{path}"));
                self.metadata(oauth.into()).await
            }
            found => found,
        }
    }

    async fn metadata(&self, url: String) -> Result<Url, FetchFault> {
        let body = self.get(&url).await?;
        let Ok(metadata) = serde_json::from_slice::<Metadata>(&body) else {
            return Err(FetchFault::NoMetadata(url));
        };
        if !same_issuer(&metadata.issuer, self.issuer.as_str()) {
            return Err(FetchFault::OtherIssuer(url));
        }
        trusted(&metadata.jwks_uri)
    }

    async fn get(&self, url: &str) -> Result<Vec<u8>, FetchFault> {
        let no_answer = |error: reqwest::Error| FetchFault::NoAnswer {
            url: url.to_owned(),
            why: said(&error.without_url()),
        };
        let mut response = self.client.get(url).send().await.map_err(no_answer)?;
        if response.status() != StatusCode::OK {
            return Err(FetchFault::Status {
                url: url.to_owned(),
                status: response.status().as_u16(),
            });
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(no_answer)? {
            if body.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(FetchFault::TooLong(url.to_owned()));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

impl KeySource for HttpSource {
    async fn fetch(&self) -> Result<SigningKeys, FetchFault> {
        let url = match &self.jwks {
            Some(jwks) => jwks.clone(),
            None => self.discover().await?,
        };
        let body = self.get(url.as_str()).await?;
        SigningKeys::read(&body).ok_or_else(|| FetchFault::NoKeys(url.into()))
    }
}

/// What an error and its causes say.
fn said(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |error| error.source());
    causes.fold(error.to_string(), |all, cause| format!("{all}: {cause}"))
}

/// `url`, if only whom it names can answer there.
fn trusted(url: &str) -> Result<Url, FetchFault> {
    let open = || FetchFault::Open(url.to_owned());
    let parsed = Url::parse(url).map_err(|_| open())?;
    let here = match parsed.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    match parsed.scheme() {
        "https" => Ok(parsed),
        "http" if here => Ok(parsed),
        _ => Err(open()),
    }
}

#[cfg(test)]
#[path = "fetch_tests.rs"]
mod tests;
