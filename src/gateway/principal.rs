//! Who asks, as far as it is proven.

use sha2::{Digest as _, Sha256};

use crate::store::executions::Owner;

/// A caller whose identity is proven, or who has none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Principal {
    /// Nobody in particular. Whoever knows the id of an anonymous execution may see it.
    Anonymous,
    /// The holder of one of the gateway's own keys, by the key's name.
    Key(Box<str>),
    /// Whom an OAuth 2.0 issuer vouches for.
    Subject {
        /// The issuer, as the gateway is configured.
        issuer: Box<str>,
        /// The token's `sub`.
        subject: Box<str>,
    },
}

impl Principal {
    /// Whose executions it starts and sees: the first 128 bits of SHA-256 over the identity, each
    /// part behind its length, so that no two identities are written alike.
    #[must_use]
    pub fn owner(&self) -> Owner {
        let parts: &[&str] = match self {
            Self::Anonymous => &["anonymous"],
            Self::Key(name) => &["key", name],
            Self::Subject { issuer, subject } => &["subject", issuer, subject],
        };
        let mut digest = Sha256::new();
        for part in parts {
            digest.update(part.len().to_be_bytes());
            digest.update(part.as_bytes());
        }
        let digest: [u8; 32] = digest.finalize().into();
        let (half, _) = digest.split_at(16);
        Owner::of_digest(half.try_into().expect("half of 32 bytes"))
    }

    /// Whether it is somebody who can be told apart from everybody else.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        !matches!(self, Self::Anonymous)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_identities_own_the_same() {
        let subject = |issuer: &str, subject: &str| Principal::Subject {
            issuer: issuer.into(),
            subject: subject.into(),
        };
        let all = [
            Principal::Anonymous,
            Principal::Key("anonymous".into()),
            Principal::Key("ab".into()),
            subject("a", "b"),
            subject("ab", ""),
            subject("", "ab"),
        ];
        let owners: HashSet<_> = all.iter().map(Principal::owner).collect();
        assert_eq!(owners.len(), all.len());
        assert_eq!(
            Principal::Anonymous.owner().as_str().len(),
            "0123456789abcdef0123456789abcdef".len()
        );
    }
}
