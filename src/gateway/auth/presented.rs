//! What a caller shows of itself: in headers, or as the key in the body of an invocation.
//!
//! Never: what stands in a query, which ends in logs and histories; or whether any of it is good.

use std::fmt;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use super::scheme::KEY_HEADER;

const BEARER: &str = "Bearer";

/// The credentials of one request, where they came in.
#[derive(Clone, Copy)]
pub struct Presented<'p> {
    headers: &'p HeaderMap,
    key_headers: &'p [HeaderName],
    in_body: Option<&'p str>,
}

impl fmt::Debug for Presented<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Presented(***)")
    }
}

impl<'p> Presented<'p> {
    /// What stands in `headers`.
    #[must_use]
    pub const fn new(headers: &'p HeaderMap) -> Self {
        Self {
            headers,
            key_headers: &[],
            in_body: None,
        }
    }

    /// The same, where keys may also come in these headers: those that the skills' schemes name.
    #[must_use]
    pub const fn looking_in(self, key_headers: &'p [HeaderName]) -> Self {
        Self {
            key_headers,
            ..self
        }
    }

    /// The same with `caller.credentials.api_key` of an invocation's body.
    #[must_use]
    pub const fn with_key(self, in_body: Option<&'p str>) -> Self {
        Self { in_body, ..self }
    }

    /// Whether a key stands where a scheme wants it: in `header`, or in the body.
    pub(super) fn has_key_in(&self, header: &HeaderName) -> bool {
        self.in_body.is_some() || self.headers.contains_key(header)
    }

    /// The one credential that there is. Keys are also sought in `wanted`.
    pub(super) fn shown(&self, wanted: Option<&HeaderName>) -> Result<Shown<'p>, Unclear> {
        let key = self.key(wanted)?;
        let mut authorizations = self.headers.get_all(header::AUTHORIZATION).iter();
        let authorization = authorizations.next();
        if authorizations.next().is_some() {
            return Err(Unclear::Several);
        }
        let token = authorization.map_or(Ok(None), bearer)?;
        match (key, token) {
            (None, None) => Ok(Shown::Nothing),
            (Some(key), None) => Ok(Shown::Key(key)),
            (None, Some(token)) => Ok(Shown::Token(token)),
            (Some(_), Some(_)) => Err(Unclear::Several),
        }
    }

    fn key(&self, wanted: Option<&HeaderName>) -> Result<Option<&'p str>, Unclear> {
        let names = self.key_headers.iter().chain(wanted).chain([&KEY_HEADER]);
        let values = names.flat_map(|name| self.headers.get_all(name));
        let mut key = self.in_body;
        for value in values {
            let other = value.to_str().map_err(|_| Unclear::Unreadable)?;
            if key.is_some_and(|key| key != other) {
                return Err(Unclear::Several);
            }
            key = Some(other);
        }
        Ok(key)
    }
}

/// The token of `Authorization: Bearer`; other schemes are none of ours and say nothing.
fn bearer(value: &HeaderValue) -> Result<Option<&str>, Unclear> {
    let Ok(text) = value.to_str() else {
        return Err(Unclear::Unreadable);
    };
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    Ok(scheme
        .eq_ignore_ascii_case(BEARER)
        .then(|| token.trim_matches(' ')))
}

/// The one credential of a request.
#[derive(Clone, Copy)]
pub(super) enum Shown<'p> {
    Nothing,
    Key(&'p str),
    Token(&'p str),
}

/// Why there is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unclear {
    #[error("several credentials came with the request: send one")]
    Several,
    #[error("the credentials cannot be read: they have to be ASCII")]
    Unreadable,
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: HeaderName = HeaderName::from_static("x-other");

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let line = |(name, value): &(&'static str, &'static str)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        };
        lines.iter().map(line).collect()
    }

    fn told(shown: Result<Shown<'_>, Unclear>) -> Result<String, Unclear> {
        shown.map(|shown| match shown {
            Shown::Nothing => "nothing".to_owned(),
            Shown::Key(key) => format!("key {key}"),
            Shown::Token(token) => format!("token {token}"),
        })
    }

    #[test]
    fn one_credential_is_found_wherever_it_may_stand() {
        for (lines, in_body, shown) in [
            (&[][..], None, "nothing"),
            (&[("x-api-key", "k")], None, "key k"),
            (&[("x-other", "k")], None, "key k"),
            (&[], Some("k"), "key k"),
            (&[("x-api-key", "k"), ("x-other", "k")], Some("k"), "key k"),
            (&[("authorization", "Bearer t")], None, "token t"),
            (&[("authorization", "bEARER  t ")], None, "token t"),
            (&[("authorization", "Bearer")], None, "token "),
            (&[("authorization", "Basic YTpi")], None, "nothing"),
            (
                &[("authorization", "Basic YTpi"), ("x-api-key", "k")],
                None,
                "key k",
            ),
        ] {
            let headers = headers(lines);
            let presented = Presented::new(&headers).with_key(in_body);
            let names = [OTHER];
            let found = told(presented.looking_in(&names).shown(None));
            assert_eq!(found.as_deref(), Ok(shown), "{lines:?} {in_body:?}");
            assert_eq!(told(presented.shown(Some(&OTHER))), found);
        }
    }

    #[test]
    fn several_credentials_are_unclear() {
        for (lines, in_body) in [
            (
                &[("x-api-key", "k"), ("authorization", "Bearer t")][..],
                None,
            ),
            (&[("authorization", "Bearer t")], Some("k")),
            (
                &[("authorization", "Bearer t"), ("authorization", "Bearer t")],
                None,
            ),
            (&[("x-api-key", "k"), ("x-api-key", "l")], None),
            (&[("x-api-key", "k"), ("x-other", "l")], None),
            (&[("x-api-key", "k")], Some("l")),
        ] {
            let headers = headers(lines);
            let presented = Presented::new(&headers).with_key(in_body);
            let shown = told(presented.shown(Some(&OTHER)));
            assert_eq!(shown, Err(Unclear::Several), "{lines:?} {in_body:?}");
        }
    }

    #[test]
    fn what_is_no_text_is_unreadable_and_nothing_of_it_is_printed() {
        let value = HeaderValue::from_bytes(b"Bearer \xff").expect("opaque");
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value)]);
        let presented = Presented::new(&headers).with_key(Some("secret"));
        assert_eq!(
            told(presented.with_key(None).shown(None)),
            Err(Unclear::Unreadable)
        );
        assert_eq!(format!("{presented:?}"), "Presented(***)");
    }
}
