//! A new key.
//!
//! Never: from [`crate::clock::Chance`], which is made for jitter and not for secrets.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::Serialize;

use super::{KeyDigest, KeyName};

/// How a key begins, so that people and scanners know one when they see it.
const PREFIX: &str = "pk_";
const BYTES: usize = 32;

/// The operating system gave no chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gives no random bytes")]
pub struct MintFailed;

/// A key that was just made. It is nowhere else.
#[derive(Clone)]
pub struct Minted(String);

impl fmt::Debug for Minted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Minted(***)")
    }
}

impl Minted {
    /// 32 random bytes as `pk_` and 43 characters.
    ///
    /// # Errors
    /// No chance to be had.
    pub fn new() -> Result<Self, MintFailed> {
        let mut bytes = [0; BYTES];
        let filled = SystemRandom::new().fill(&mut bytes);
        filled.map_err(|_| MintFailed)?;
        Ok(Self(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))))
    }

    /// The key itself, to be shown once.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Its entry in the file of keys, good for what these patterns cover.
    #[must_use]
    pub fn entry(&self, name: &KeyName, skills: &[String], targets: &[String]) -> String {
        let digest = KeyDigest::of(&self.0).to_string();
        let entry = Entry {
            name: name.as_str(),
            sha256: &digest,
            skills,
            targets,
        };
        toml::to_string(&File { key: [entry] }).expect("texts and lists of them are toml")
    }
}

/// A file with one key.
#[derive(Serialize)]
struct File<'e> {
    key: [Entry<'e>; 1],
}

#[derive(Serialize)]
struct Entry<'e> {
    name: &'e str,
    sha256: &'e str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    skills: &'e [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    targets: &'e [String],
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock::WallTime, gateway::auth::keys::file::parse};

    #[test]
    fn a_new_key_is_found_by_its_entry_and_no_two_are_alike() {
        let name = "ci".parse().expect("a name");
        let (key, other) = (
            Minted::new().expect("chance"),
            Minted::new().expect("chance"),
        );
        let (skills, targets) = (["*".to_owned()], ["puruto-\"odd".to_owned()]);
        let keys = parse(&key.entry(&name, &skills, &targets)).expect("valid");
        let now = WallTime::from_unix_millis(0);
        let found = keys.find(key.expose(), now).expect("known");
        assert_eq!(found.name(), &name);
        assert!(found.skills().cover("any") && found.targets().cover("puruto-\"odd"));
        assert_eq!(keys.find(other.expose(), now), None);
        assert_eq!(key.expose().len(), PREFIX.len() + 43);
        assert_eq!(format!("{key:?}"), "Minted(***)");
    }
}
