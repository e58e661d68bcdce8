//! The proxies that the environment names, by the customary variables.
//!
//! `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, in capitals or not. Never: a proxy's
//! password in a `Debug` print.

use hyper::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

/// Set for programs that a web server runs: there `HTTP_PROXY` is a header that a stranger sent.
const RUN_BY_A_WEB_SERVER: &str = "REQUEST_METHOD";

/// Which destinations are reached through which proxy.
#[derive(Debug)]
pub(in crate::runtime) struct Proxies(Option<Matcher>);

impl Proxies {
    /// The proxies that `env` names.
    pub(in crate::runtime) fn named_in(env: impl Fn(&str) -> Option<String>) -> Self {
        if env(RUN_BY_A_WEB_SERVER).is_some() {
            return Self(None);
        }
        let either = |upper: &str, lower: &str| env(upper).or_else(|| env(lower));
        let matcher = Matcher::builder()
            .all(either("ALL_PROXY", "all_proxy").unwrap_or_default())
            .http(either("HTTP_PROXY", "http_proxy").unwrap_or_default())
            .https(either("HTTPS_PROXY", "https_proxy").unwrap_or_default())
            .no(either("NO_PROXY", "no_proxy").unwrap_or_default())
            .build();
        Self(Some(matcher))
    }

    /// The proxy towards `destination`, if one stands between.
    pub(in crate::runtime::connector) fn towards(&self, destination: &Uri) -> Option<Intercept> {
        self.0.as_ref()?.intercept(destination)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn towards(destination: &str, variables: &[(&str, &str)]) -> Option<String> {
        let env = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let proxy = Proxies::named_in(env).towards(&destination.parse().expect("an address"));
        proxy.map(|proxy| proxy.uri().to_string())
    }

    #[test]
    fn each_variable_names_its_proxy_and_no_proxy_wins() {
        let (http, https) = ("http://model.test/v1", "https://model.test/v1");
        let web = ("HTTP_PROXY", "http://web:1");
        let tls = ("https_proxy", "tls:2");
        let all = ("ALL_PROXY", "http://all:3");
        let is = |url: &str| Some(url.to_owned());
        assert_eq!(towards(http, &[]), None);
        assert_eq!(towards(http, &[web, tls]), is("http://web:1/"));
        assert_eq!(towards(https, &[web, tls]), is("http://tls:2/"));
        assert_eq!(towards(https, &[web, all]), is("http://all:3/"));
        assert_eq!(towards(https, &[all, ("NO_PROXY", "model.test")]), None);
        assert_eq!(towards(http, &[web, ("REQUEST_METHOD", "GET")]), None);
    }
}
