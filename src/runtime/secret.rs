//! A key that is used and never shown.
//!
//! Never: printed, logged, compared or put into an error.

use std::fmt;

/// A key; `{:?}` shows that there is one, and there is no `{}`.
#[derive(Clone)]
pub struct Secret(Box<str>);

impl Secret {
    /// Takes `raw` without the white space around it, which editors put at the end of files.
    #[must_use]
    pub fn new(raw: &str) -> Self {
        Self(raw.trim().into())
    }

    /// Whether there is nothing to hide.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The key itself, for the one header that carries it.
    #[must_use]
    pub const fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_shown() {
        let secret = Secret::new(" sk-123\n");
        assert_eq!(secret.expose(), "sk-123");
        assert_eq!(
            format!("{secret:?} {:#?}", Some(&secret))
                .matches("sk-")
                .count(),
            0
        );
    }
}
