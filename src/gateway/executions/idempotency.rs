//! The id of an execution that a caller may start twice without running it twice.

use uuid::Uuid;

use crate::{contract::RequestId, store::executions::Owner};

/// Names the ids that are made of a key; drawn once.
const NAMESPACE: Uuid = Uuid::from_u128(0x6f0c_1f0e_8a0b_4d53_9a57_2b1d_5c1e_7d44);

/// Longest key that is taken, in bytes.
const KEY_BYTES_MAX: usize = 255;

/// What a caller says to be understood as asking for the same thing again (`Idempotency-Key`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey(Box<str>);

impl IdempotencyKey {
    /// What a key has to be.
    pub const EXPECTED: &'static str = "1 to 255 visible ASCII characters";

    /// The key, if it is one.
    pub fn new(text: &str) -> Option<Self> {
        let fits = (1..=KEY_BYTES_MAX).contains(&text.len());
        let clean = text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() || byte == b' ');
        (fits && clean).then(|| Self(text.into()))
    }

    /// The one id of what this owner starts under this key. `caller` tells apart those who have no
    /// proven identity.
    pub fn id(&self, owner: &Owner, caller: &str) -> RequestId {
        let name = format!("{owner}\0{caller}\0{}", self.0);
        RequestId::from_uuid(Uuid::new_v5(&NAMESPACE, name.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_key_of_the_same_caller_is_one_id_and_no_other_is() {
        let key = |text| IdempotencyKey::new(text).unwrap();
        let owner = |number| Owner::of_digest([number; 16]);
        let id = key("a").id(&owner(1), "ann");
        assert_eq!(id, key("a").id(&owner(1), "ann"));
        for other in [
            key("b").id(&owner(1), "ann"),
            key("a").id(&owner(2), "ann"),
            key("a").id(&owner(1), "bob"),
        ] {
            assert_ne!(id, other);
        }
    }

    #[test]
    fn a_key_is_short_and_can_be_seen() {
        for text in ["", "a\nb", "\u{e9}", &"x".repeat(256)] {
            assert!(IdempotencyKey::new(text).is_none(), "{text:?}");
        }
    }
}
