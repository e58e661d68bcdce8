//! What makes two requests with the same id the same request.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize, de};
use sha2::{Digest as _, Sha256};

/// SHA-256 over what a request asks for: caller, target, action, prompt, time-out, hop and any
/// unknown field. Neither id is part of it, so that a retry is recognised whoever named its chain.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// The fingerprint of `parts`, each kept apart from the next by its length.
    pub(super) fn of<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        let mut kept = [0; 16];
        for (kept, byte) in kept.iter_mut().zip(hash.finalize()) {
            *kept = byte;
        }
        Self(kept)
    }

    /// The fingerprint of a message that could not be read as a request.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self::of([bytes])
    }
}

impl fmt::Display for Fingerprint {
    /// 32 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// A text that is no fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected 32 hexadecimal digits")]
pub struct InvalidFingerprint;

impl FromStr for Fingerprint {
    type Err = InvalidFingerprint;

    fn from_str(raw: &str) -> Result<Self, InvalidFingerprint> {
        if raw.len() != 32 {
            return Err(InvalidFingerprint);
        }
        let bits = u128::from_str_radix(raw, 16).map_err(|_| InvalidFingerprint)?;
        Ok(Self(bits.to_be_bytes()))
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other_and_the_text_reads_back() {
        let one = Fingerprint::of([b"ab".as_slice(), b"c"]);
        let other = Fingerprint::of([b"a".as_slice(), b"bc"]);
        assert_ne!(one, other);
        assert_eq!(one.to_string().parse(), Ok(one));
        assert_eq!("zz".parse::<Fingerprint>(), Err(InvalidFingerprint));
    }
}
