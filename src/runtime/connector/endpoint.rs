//! One address of a provider: the client with the connections to it, and the key it wants.
//!
//! Never: a provider's wire form, or the key in anything but the one header.

use std::{mem, time::Duration};

use reqwest::{
    Client, StatusCode, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
};

use super::{Payload, http};
use crate::{
    clock::Clock,
    runtime::{
        Fault,
        config::{Authorization, Mistake},
        fault::HttpStatus,
        retry_after,
    },
};

const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

#[derive(Debug)]
pub(super) struct Endpoint {
    client: Client,
    url: Url,
    authorization: Option<Authorization>,
    clock: Clock,
}

/// A response with its body, which of a refusal may be only the beginning.
#[derive(Debug)]
pub(super) struct HttpReply {
    pub(super) status: HttpStatus,
    pub(super) headers: HeaderMap,
    /// How long the server asks to be left alone.
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Vec<u8>,
}

impl HttpReply {
    pub(super) fn is_success(&self) -> bool {
        StatusCode::from_u16(self.status.0).is_ok_and(|status| status.is_success())
    }
}

impl Endpoint {
    /// # Errors
    /// A machine on which no HTTP client can be made.
    pub(super) fn new(
        url: Url,
        authorization: Option<Authorization>,
        clock: Clock,
    ) -> Result<Self, Mistake> {
        let client = http::client().map_err(|error| {
            let why = format!("no http client can be made on this machine: {error:?}");
            Mistake::new("base_url", url.as_str(), why)
        })?;
        Ok(Self {
            client,
            url,
            authorization,
            clock,
        })
    }

    pub(super) fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// Host and port.
    pub(super) fn host(&self) -> &str {
        self.url.authority()
    }

    /// Sends `payload` once and reads what comes back, of a success at most `body_max` bytes.
    ///
    /// # Errors
    /// The connection broke, or the success is longer.
    pub(super) async fn post(
        &self,
        payload: &Payload,
        body_max: usize,
    ) -> Result<HttpReply, Fault> {
        let mut request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(payload.0.clone());
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.header());
        }
        let mut response = request.send().await.map_err(http::unanswered)?;
        let status = response.status();
        let headers = mem::take(response.headers_mut());
        let body = if status.is_success() {
            http::body(response, body_max).await?
        } else {
            http::error_body(response).await
        };
        Ok(HttpReply {
            status: HttpStatus(status.as_u16()),
            retry_after: self.retry_after(&headers),
            headers,
            body,
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
