//! Where a provider's key is, and the header that carries it.
//!
//! Never: the key in an error; a mistake says where it was sought.

use std::path::Path;

use hyper::header::HeaderValue;

use super::Mistake;
use crate::runtime::secret::Secret;

/// What a provider's table says about its key.
#[derive(Clone, Copy, Debug)]
pub(super) struct ApiKeyPlace<'c> {
    /// The environment variable `api_key_env`.
    pub(super) env: Option<&'c str>,
    /// The file `api_key_file`.
    pub(super) file: Option<&'c Path>,
}

/// The value of the one header with the key.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct Authorization(HeaderValue);

impl Authorization {
    /// Marked sensitive: its `{:?}` shows no key.
    pub(in crate::runtime) const fn header(&self) -> &HeaderValue {
        &self.0
    }

    fn bearer(key: &Secret) -> Option<Self> {
        let mut header = HeaderValue::try_from(format!("Bearer {}", key.expose())).ok()?;
        header.set_sensitive(true);
        Some(Self(header))
    }
}

impl ApiKeyPlace<'_> {
    /// Looks the key up; `None` when the table names none.
    ///
    /// # Errors
    /// Two places, nothing in the one, or a key that cannot stand in a header.
    pub(super) fn authorization(
        self,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Authorization>, Mistake> {
        let (key, place, raw) = match (self.env, self.file) {
            (None, None) => return Ok(None),
            (Some(name), Some(_)) => {
                let why = "api_key_file is given too; keep one of them".to_owned();
                return Err(Mistake::new("api_key_env", name, why));
            }
            (Some(name), None) => {
                let unset = || "the environment variable is not set".to_owned();
                let raw = env(name).ok_or_else(|| Mistake::new("api_key_env", name, unset()))?;
                ("api_key_env", name.to_owned(), raw)
            }
            (None, Some(path)) => {
                let shown = path.display().to_string();
                let raw = std::fs::read_to_string(path)
                    .map_err(|error| Mistake::new("api_key_file", &shown, error.to_string()))?;
                ("api_key_file", shown, raw)
            }
        };
        let wrong = |why: &str| Mistake::new(key, &place, why.to_owned());
        let secret = Secret::new(&raw);
        if secret.is_empty() {
            return Err(wrong("it holds no key"));
        }
        match Authorization::bearer(&secret) {
            Some(authorization) => Ok(Some(authorization)),
            None => Err(wrong("the key holds characters that no header can carry")),
        }
    }
}
