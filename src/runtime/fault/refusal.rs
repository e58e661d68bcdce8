//! What a server says about itself when it refuses: status, code, how long to stay away.
//!
//! Never: its own sentences.

use std::{fmt, time::Duration};

/// An HTTP answer that is no success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status line's number.
    pub status: HttpStatus,
    /// The provider's error code, such as `insufficient_quota`.
    pub code: Option<ProviderCode>,
    /// How long the server asked to be left alone.
    pub retry_after: Option<Duration>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HTTP {}", self.status.0)?;
        match &self.code {
            Some(code) => write!(f, " ({})", code.0),
            None => Ok(()),
        }
    }
}

/// The number of an HTTP status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HttpStatus(pub u16);

/// A provider's error code. Only letters, digits, `_`, `-` and `.`, at most 64: a server cannot
/// smuggle sentences (a prompt, a key) into our logs with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderCode(Box<str>);

/// Longest provider code, in bytes.
const PROVIDER_CODE_BYTES_MAX: usize = 64;

impl ProviderCode {
    /// `raw` as a code, if it looks like one.
    #[must_use]
    pub fn read(raw: &str) -> Option<Self> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
        let fits = !raw.is_empty() && raw.len() <= PROVIDER_CODE_BYTES_MAX;
        (fits && raw.bytes().all(plain)).then(|| Self(raw.into()))
    }

    /// The code as the provider spells it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_code_holds_no_sentence() {
        assert!(ProviderCode::read("insufficient_quota").is_some());
        assert_eq!(ProviderCode::read("your key sk-1 is wrong"), None);
        assert_eq!(ProviderCode::read(&"x".repeat(65)), None);
        assert_eq!(ProviderCode::read(""), None);
    }
}
