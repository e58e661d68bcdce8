//! What a skill asks of whoever calls it, as its descriptor says under `auth`.

use axum::http::{HeaderName, header};
use serde::{Deserialize, Serialize};

/// The header that a key comes in where the descriptor names no other.
pub static KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");

/// The scope that a token must have where the descriptor names no other.
const INVOKE: &str = "skill:invoke";

/// Headers that mean something else to HTTP, or are changed on the way.
const TAKEN: &[HeaderName] = &[
    header::ACCEPT,
    header::AUTHORIZATION,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::COOKIE,
    header::HOST,
    header::TRANSFER_ENCODING,
    header::USER_AGENT,
];

/// How a caller has to show who it is.
///
/// ```
/// use puruto_fleet::gateway::auth::AuthScheme;
///
/// let scheme: AuthScheme = serde_json::from_str(r#"{"type": "api_key"}"#)?;
/// assert_eq!(serde_json::to_string(&scheme)?, r#"{"type":"api_key","header":"x-api-key"}"#);
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum AuthScheme {
    /// Not at all.
    None,
    /// By one of the gateway's keys.
    ApiKey {
        /// The header that it comes in.
        header: HeaderName,
    },
    /// By a token of the configured OAuth 2.0 issuer.
    Oauth2 {
        /// What the token must allow.
        scope: Scope,
    },
}

/// One scope of OAuth 2.0, as RFC 6749 writes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Box<str>", into = "String")]
pub struct Scope(Box<str>);

impl Scope {
    /// The scope as text: printable ASCII without spaces, quotes and backslashes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Scope {
    fn default() -> Self {
        Self(INVOKE.into())
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> Self {
        scope.0.into()
    }
}

impl TryFrom<Box<str>> for Scope {
    type Error = Unfit;

    fn try_from(text: Box<str>) -> Result<Self, Unfit> {
        let fits = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
        let valid = !text.is_empty() && text.bytes().all(fits);
        valid.then_some(Self(text)).ok_or(Unfit::Scope)
    }
}

/// The object `auth` of a descriptor, as it is written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    r#type: Box<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    header: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<Scope>,
}

/// Why an object `auth` is none that the gateway can hold a caller to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The descriptor format's own way out, which says nothing that could be checked.
    #[error("type `custom` is not supported: use `none`, `api_key` or `oauth2`")]
    Custom,
    /// No type of the descriptor format.
    #[error("type `{0}` is unknown: use `none`, `api_key` or `oauth2`")]
    Type(Box<str>),
    /// A key without a meaning under this type.
    #[error("`{key}` has no meaning under type `{under}`")]
    Stray {
        /// The key.
        key: &'static str,
        /// The type.
        under: Box<str>,
    },
    /// No header that a key can come in.
    #[error("header `{0}` cannot carry a key: name one of your own, such as X-API-Key")]
    Header(Box<str>),
    /// No scope.
    #[error("a scope is printable ASCII without spaces, quotes and backslashes")]
    Scope,
}

impl TryFrom<Written> for AuthScheme {
    type Error = Unfit;

    fn try_from(written: Written) -> Result<Self, Unfit> {
        let Written {
            r#type,
            header,
            scope,
        } = written;
        let stray = |key| Unfit::Stray {
            key,
            under: r#type.clone(),
        };
        match (&*r#type, header, scope) {
            ("none", None, None) => Ok(Self::None),
            ("api_key", header, None) => key_header(header).map(|header| Self::ApiKey { header }),
            ("oauth2", None, scope) => Ok(Self::Oauth2 {
                scope: scope.unwrap_or_default(),
            }),
            ("none" | "oauth2", Some(_), _) => Err(stray("header")),
            ("none" | "api_key", _, Some(_)) => Err(stray("scope")),
            ("custom", _, _) => Err(Unfit::Custom),
            _ => Err(Unfit::Type(r#type)),
        }
    }
}

fn key_header(written: Option<Box<str>>) -> Result<HeaderName, Unfit> {
    let Some(written) = written else {
        return Ok(KEY_HEADER.clone());
    };
    let name = HeaderName::try_from(&*written).ok();
    name.filter(|name| !TAKEN.contains(name))
        .ok_or(Unfit::Header(written))
}

impl From<AuthScheme> for Written {
    fn from(scheme: AuthScheme) -> Self {
        let (r#type, header, scope) = match scheme {
            AuthScheme::None => ("none", None, None),
            AuthScheme::ApiKey { header } => ("api_key", Some(header.as_str().into()), None),
            AuthScheme::Oauth2 { scope } => ("oauth2", None, Some(scope)),
        };
        Self {
            r#type: r#type.into(),
            header,
            scope,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<AuthScheme, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn what_a_descriptor_leaves_out_has_a_default() {
        let key = |header| Ok(AuthScheme::ApiKey { header });
        let oauth2 = |scope| Ok(AuthScheme::Oauth2 { scope });
        let other = |text: &str| Scope::try_from(Box::from(text)).expect("a scope");
        for (json, scheme) in [
            (r#"{"type":"none"}"#, Ok(AuthScheme::None)),
            (r#"{"type":"api_key"}"#, key(KEY_HEADER.clone())),
            (
                r#"{"type":"api_key","header":"X-Key"}"#,
                key(HeaderName::from_static("x-key")),
            ),
            (r#"{"type":"oauth2"}"#, oauth2(other("skill:invoke"))),
            (r#"{"type":"oauth2","scope":"pay"}"#, oauth2(other("pay"))),
        ] {
            let read = read(json);
            assert_eq!(read, scheme, "{json}");
            let again = serde_json::to_string(&read.expect("valid")).expect("prints");
            assert_eq!(
                serde_json::from_str(&again).map_err(|_| ()),
                scheme.map_err(|_| ())
            );
        }
    }

    #[test]
    fn what_cannot_be_held_is_refused_by_name() {
        for (json, says) in [
            (r#"{"type":"custom"}"#, "type `custom` is not supported"),
            (r#"{"type":"basic"}"#, "type `basic` is unknown"),
            (r#"{}"#, "missing field `type`"),
            (r#"{"type":"none","keys":1}"#, "unknown field `keys`"),
            (
                r#"{"type":"none","header":"a"}"#,
                "`header` has no meaning under type `none`",
            ),
            (
                r#"{"type":"oauth2","header":"a"}"#,
                "`header` has no meaning",
            ),
            (
                r#"{"type":"api_key","scope":"a"}"#,
                "`scope` has no meaning",
            ),
            (
                r#"{"type":"api_key","header":"Authorization"}"#,
                "header `Authorization` cannot",
            ),
            (
                r#"{"type":"api_key","header":"a b"}"#,
                "header `a b` cannot carry a key",
            ),
            (
                r#"{"type":"oauth2","scope":"a b"}"#,
                "a scope is printable ASCII",
            ),
            (
                r#"{"type":"oauth2","scope":""}"#,
                "a scope is printable ASCII",
            ),
        ] {
            let refusal = read(json).expect_err(json);
            assert!(refusal.starts_with(says), "{json}: {refusal}");
        }
    }
}
