//! Where a skill is invoked and where one asks how it went.

use std::{fmt, str::FromStr};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use url::Url;

use crate::{config::HttpUrl, contract::RequestId};

/// What stands for the id in an address.
const PLACEHOLDER: &str = "{execution_id}";
/// What an id may hold as it is where an address takes it in.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// The addresses that a descriptor gives; where it gives none, those of the gateway itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Endpoints {
    pub(super) invocation: Option<FixedUrl>,
    pub(super) status: Option<ExecutionUrl>,
    pub(super) result: Option<ExecutionUrl>,
}

/// The three addresses of a skill, as they are published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndpointUrls {
    /// Where it is invoked.
    pub invocation_endpoint: String,
    /// Where the status of an execution is; by [`filled`] with its id.
    pub status_url: String,
    /// Where the result of an execution is; by [`filled`] with its id.
    pub result_url: String,
}

impl Endpoints {
    /// All three, for callers who reach the gateway at `gateway`.
    pub(super) fn urls(&self, gateway: &HttpUrl) -> EndpointUrls {
        let own = |path: &str| format!("{gateway}{path}");
        let text = |url: &ExecutionUrl| url.0.to_string();
        let invocation = self.invocation.as_ref().map(|it| it.0.to_string());
        EndpointUrls {
            invocation_endpoint: invocation.unwrap_or_else(|| own("/v1/invocations")),
            status_url: (self.status.as_ref())
                .map_or_else(|| own("/v1/executions/{execution_id}"), text),
            result_url: (self.result.as_ref())
                .map_or_else(|| own("/v1/executions/{execution_id}/result"), text),
        }
    }
}

/// `url` with `id` in the place of `{execution_id}`, or behind it where there is no such place.
#[must_use]
pub fn filled(url: &str, id: &RequestId) -> String {
    let id = utf8_percent_encode(id.as_str(), SEGMENT).to_string();
    if url.contains(PLACEHOLDER) {
        url.replace(PLACEHOLDER, &id)
    } else {
        format!("{}/{id}", url.trim_end_matches('/'))
    }
}

/// An address without a place for an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FixedUrl(Box<str>);

impl FromStr for FixedUrl {
    type Err = InvalidUrl;

    fn from_str(text: &str) -> Result<Self, InvalidUrl> {
        if text.contains(PLACEHOLDER) {
            return Err(InvalidUrl("it is for all executions, yet names one"));
        }
        check(text)?;
        Ok(Self(text.into()))
    }
}

/// An address that takes in the id of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExecutionUrl(Box<str>);

impl FromStr for ExecutionUrl {
    type Err = InvalidUrl;

    fn from_str(text: &str) -> Result<Self, InvalidUrl> {
        let url = check(&text.replace(PLACEHOLDER, "x"))?;
        if url.host_str() != check(&text.replace(PLACEHOLDER, "y"))?.host_str() {
            return Err(InvalidUrl("{execution_id} stands in the host"));
        }
        if url.query().is_some() && !text.contains(PLACEHOLDER) {
            return Err(InvalidUrl("its query leaves no place for {execution_id}"));
        }
        Ok(Self(text.into()))
    }
}

/// Why a text is no address of a descriptor. Never repeats the text: a login may stand in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InvalidUrl(&'static str);

impl fmt::Display for InvalidUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = self.0;
        write!(
            f,
            "expected http:// or https:// with a host, without login or fragment: {why}"
        )
    }
}

/// An address that can be published and sent in a header as it is.
pub(super) fn check(text: &str) -> Result<Url, InvalidUrl> {
    // The parser would strip line breaks and encode the rest, and publish another address.
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(InvalidUrl(
            "it holds a space, a control or a non-ASCII character",
        ));
    }
    if text.contains(['{', '}', '"', '<', '>', '\\', '^', '`', '|']) {
        return Err(InvalidUrl("it holds a character that has to be encoded"));
    }
    let url = Url::parse(text).map_err(|_| InvalidUrl("it is no address"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(InvalidUrl("it is another protocol"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(InvalidUrl("a login stands in it"));
    }
    if url.fragment().is_some() {
        return Err(InvalidUrl("a fragment is never sent"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(raw: &str) -> RequestId {
        raw.parse().expect("an id")
    }

    #[test]
    fn an_id_is_filled_in_where_the_address_says_or_appended() {
        let filled = |url| filled(url, &id("exec-789"));
        assert_eq!(
            filled("https://h/a/{execution_id}/status"),
            "https://h/a/exec-789/status"
        );
        assert_eq!(
            filled("https://h/s?id={execution_id}"),
            "https://h/s?id=exec-789"
        );
        assert_eq!(filled("https://h/status"), "https://h/status/exec-789");
        assert_eq!(filled("https://h/status/"), "https://h/status/exec-789");
    }

    #[test]
    fn no_id_leaves_its_place_in_an_address() {
        let url = filled("https://h/{execution_id}", &id("../a b?c#d%2f/é"));
        assert_eq!(url, "https://h/..%2Fa%20b%3Fc%23d%252f%2F%C3%A9");
    }

    #[test]
    fn what_a_descriptor_leaves_out_is_the_gateways_own() {
        let gateway: HttpUrl = "https://fleet.example/base/".parse().expect("an address");
        let urls = Endpoints::default().urls(&gateway);
        assert_eq!(
            urls,
            EndpointUrls {
                invocation_endpoint: "https://fleet.example/base/v1/invocations".to_owned(),
                status_url: "https://fleet.example/base/v1/executions/{execution_id}".to_owned(),
                result_url: "https://fleet.example/base/v1/executions/{execution_id}/result"
                    .to_owned(),
            }
        );
        let status = "http://other/{execution_id}".parse().expect("an address");
        let mut own = Endpoints {
            status: Some(status),
            ..Endpoints::default()
        };
        own.invocation = Some("http://other/invoke".parse().expect("an address"));
        let urls = own.urls(&gateway);
        assert_eq!(urls.status_url, "http://other/{execution_id}");
        assert_eq!(urls.invocation_endpoint, "http://other/invoke");
    }

    #[test]
    fn an_address_that_could_split_a_header_or_hide_a_login_is_refused() {
        for bad in [
            "https://h/a\r\nSet-Cookie: a=b",
            "https://h/a b",
            "https://h/\u{0}",
            "https://h/é",
            "https://h/{id}",
            "https://u:p@h/",
            "https://u@h/",
            "https://h/#a",
            "ftp://h/",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "/v1/invocations",
            "https://",
            "",
            "https://{execution_id}.h/",
            "https://h/status?of=1",
        ] {
            assert!(bad.parse::<ExecutionUrl>().is_err(), "{bad:?}");
        }
        assert!("https://h/{execution_id}".parse::<FixedUrl>().is_err());
        let login = "https://u:secret@h/"
            .parse::<FixedUrl>()
            .expect_err("a login");
        assert!(!login.to_string().contains("secret"));
    }
}
