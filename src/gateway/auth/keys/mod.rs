//! The gateway's own keys: who holds which, and what each is good for.
//!
//! Never: a key itself. What is kept is its digest, which gives nothing away, since a key is 256
//! bits of chance.

mod file;
mod live;
mod mint;
mod pattern;

use std::{fmt, str::FromStr};

use sha2::{Digest as _, Sha256};
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

pub use self::{
    file::{KeyMistake, KeyMistakes},
    live::{KeysReloader, LiveKeys, watch},
    mint::{MintFailed, Minted},
    pattern::{InvalidPattern, Patterns},
};
use crate::{
    clock::WallTime,
    contract::{InvalidId, PurutoName},
};

/// What a key is called, in the file and in everything that is told of its holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyName(Box<str>);

impl KeyName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for KeyName {
    type Err = InvalidId;

    /// Keys are called by the same rule as Purutos.
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let name = text.parse::<PurutoName>()?;
        Ok(Self(name.as_str().into()))
    }
}

/// The SHA-256 of a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyDigest([u8; 32]);

impl KeyDigest {
    /// That of `key`.
    #[must_use]
    pub fn of(key: &str) -> Self {
        Self(Sha256::digest(key.as_bytes()).into())
    }

    /// From 64 hexadecimal digits.
    fn from_hex(text: &str) -> Option<Self> {
        let text = text.as_bytes();
        let mut digest = [0; 32];
        if text.len() != 2 * digest.len() {
            return None;
        }
        for (byte, pair) in digest.iter_mut().zip(text.chunks_exact(2)) {
            // Checked apart: the standard reader would take a sign too.
            let pair = str::from_utf8(pair).ok()?;
            let digits = pair.bytes().all(|byte| byte.is_ascii_hexdigit());
            *byte = u8::from_str_radix(pair, 16).ok().filter(|_| digits)?;
        }
        Some(Self(digest))
    }
}

impl fmt::Display for KeyDigest {
    /// 64 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyDigest")
    }
}

/// One key, as its digest stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    name: KeyName,
    digest: KeyDigest,
    skills: Patterns,
    targets: Patterns,
    expires: Option<WallTime>,
}

impl Key {
    /// What it is called.
    #[must_use]
    pub const fn name(&self) -> &KeyName {
        &self.name
    }

    /// The skills that it may invoke.
    #[must_use]
    pub const fn skills(&self) -> &Patterns {
        &self.skills
    }

    /// The targets that it may ask without a skill.
    #[must_use]
    pub const fn targets(&self) -> &Patterns {
        &self.targets
    }
}

/// All keys that there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySet(Vec<Key>);

impl KeySet {
    /// The key that was presented, unless it is unknown or no longer good at `now`; how long that
    /// takes depends on how many keys there are and on nothing else.
    #[must_use]
    pub fn find(&self, presented: &str, now: WallTime) -> Option<&Key> {
        let digests = self.0.iter().map(|key| &key.digest);
        let key = self.0.get(place(digests, &KeyDigest::of(presented))?)?;
        let good = key.expires.is_none_or(|expires| now < expires);
        good.then_some(key)
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Where `presented` stands among `digests`. Each is looked at, to its end, wherever it stands.
fn place<'d>(digests: impl Iterator<Item = &'d KeyDigest>, presented: &KeyDigest) -> Option<usize> {
    const NOWHERE: u64 = u64::MAX;
    let mut place = NOWHERE;
    for (at, digest) in (0..).zip(digests) {
        place.conditional_assign(&at, digest.0.ct_eq(&presented.0));
    }
    (place != NOWHERE).then(|| usize::try_from(place).ok())?
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn digests() -> [KeyDigest; 3] {
        ["first", "second", "third"].map(KeyDigest::of)
    }

    #[test]
    fn every_digest_is_compared_wherever_the_presented_one_stands() {
        let digests = digests();
        for (presented, found) in [
            ("first", Some(0)),
            ("second", Some(1)),
            ("third", Some(2)),
            ("none", None),
            ("", None),
        ] {
            let compared = Cell::new(0);
            let counted = digests.iter().inspect(|_| compared.set(compared.get() + 1));
            assert_eq!(place(counted, &KeyDigest::of(presented)), found);
            assert_eq!(compared.get(), digests.len(), "{presented}");
        }
    }

    #[test]
    fn a_digest_is_read_as_it_is_printed_and_shown_to_nobody() {
        let digest = KeyDigest::of("abc");
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest.to_string(), hex);
        assert_eq!(KeyDigest::from_hex(hex), Some(digest));
        assert_eq!(KeyDigest::from_hex(&hex.to_uppercase()), Some(digest));
        assert_eq!(format!("{digest:?}"), "KeyDigest");
        for unfit in [
            "",
            "ab",
            &hex[1..],
            &format!("+{}", &hex[1..]),
            &"é".repeat(32),
        ] {
            assert_eq!(KeyDigest::from_hex(unfit), None, "{unfit}");
        }
    }
}
