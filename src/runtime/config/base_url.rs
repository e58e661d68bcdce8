//! Where a provider's API starts.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize, Serializer, de};
use url::Url;

/// An `http` or `https` address without credentials, query or fragment.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl(Url);

/// Why a text is no [`BaseUrl`]; names the text, without credentials that it may hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid value: {shown:?}: {why}, expected a base url such as https://api.openai.com/v1")]
pub struct InvalidBaseUrl {
    shown: String,
    why: String,
}

impl BaseUrl {
    /// The address of `path` (`chat/completions`) under this one.
    #[must_use]
    pub fn join(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/{path}"));
        url
    }
}

impl FromStr for BaseUrl {
    type Err = InvalidBaseUrl;

    fn from_str(raw: &str) -> Result<Self, Self::Err> {
        let refused = |why: String| InvalidBaseUrl {
            shown: without_credentials(raw),
            why,
        };
        let url = Url::parse(raw).map_err(|error| refused(error.to_string()))?;
        let why = if !matches!(url.scheme(), "http" | "https") {
            "the scheme is neither http nor https"
        } else if !url.username().is_empty() || url.password().is_some() {
            "credentials belong into api_key_env or api_key_file"
        } else if url.query().is_some() || url.fragment().is_some() {
            "it has a query or a fragment"
        } else {
            return Ok(Self(url));
        };
        Err(refused(why.to_owned()))
    }
}

/// Hides everything between the scheme and the last `@`, even in what is no address at all.
fn without_credentials(raw: &str) -> String {
    match raw.rsplit_once('@') {
        Some((_, rest)) => {
            let scheme = raw.split_once("://").map_or("", |(scheme, _)| scheme);
            format!("{scheme}://***@{rest}")
        }
        None => raw.to_owned(),
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0.as_str())
    }
}

impl Serialize for BaseUrl {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BaseUrl {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = String::deserialize(from)?;
        raw.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_added_behind_the_base_with_one_slash() {
        for base in ["http://h:1/v1", "http://h:1/v1/"] {
            let base: BaseUrl = base.parse().expect("valid");
            let joined = base.join("chat/completions");
            assert_eq!(joined.as_str(), "http://h:1/v1/chat/completions");
        }
        let bare: BaseUrl = "https://h".parse().expect("valid");
        assert_eq!(bare.join("x").as_str(), "https://h/x");
    }

    #[test]
    fn what_is_no_base_url_is_named_without_its_password() {
        for bad in [
            "",
            "api.openai.com/v1",
            "ftp://h",
            "http://",
            "http://h/?a=1",
            "http://h/#x",
        ] {
            let said = bad.parse::<BaseUrl>().expect_err(bad).to_string();
            assert!(said.contains(&format!("{bad:?}")), "{said}");
        }
        for bad in [
            "http://me:sesame@h/v1",
            "http//me:sesame@h",
            "http://me:ses@me@h:x",
        ] {
            let said = bad.parse::<BaseUrl>().expect_err(bad).to_string();
            assert!(!said.contains("ses") && said.contains("***@h"), "{said}");
        }
    }
}
