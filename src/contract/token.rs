//! What is published of an answer while it is being written.
//!
//! Never: a promise. The result alone is; a listener that missed something reads it there.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// One message of those that go, in order, to `puruto.token.<correlation_id>.<request_id>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenMessage {
    /// Its place, from 0 and without a gap; an execution begins anew at 0.
    pub index: u64,
    /// What it says.
    #[serde(flatten)]
    pub says: Says,
}

/// What a [`TokenMessage`] says.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Says {
    /// The answer goes on with this text.
    Content(String),
    /// What the model thinks goes on with this text; it is no part of the answer.
    Reasoning(String),
    /// The answer starts again: forget what came before.
    Restart(True),
    /// The answer is whole; its result follows.
    Done(True),
}

impl std::fmt::Debug for Says {
    /// Kind and length: an answer never reaches a log by way of `{:?}`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Content(text) => write!(f, "Content({} bytes)", text.len()),
            Self::Reasoning(text) => write!(f, "Reasoning({} bytes)", text.len()),
            Self::Restart(True) => f.write_str("Restart"),
            Self::Done(True) => f.write_str("Done"),
        }
    }
}

impl TokenMessage {
    /// The message on the wire.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers can always be written as JSON")
    }
}

/// `true`, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct True;

impl Serialize for True {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bool(true)
    }
}

impl<'de> Deserialize<'de> for True {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        if bool::deserialize(from)? {
            Ok(Self)
        } else {
            Err(de::Error::custom("expected true"))
        }
    }
}

impl JsonSchema for True {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "True".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"const": true})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_has_its_index_and_one_thing_to_say() {
        for (says, written) in [
            (
                Says::Content("hi \"you\"".to_owned()),
                r#"{"index":7,"content":"hi \"you\""}"#,
            ),
            (
                Says::Reasoning("hm".to_owned()),
                r#"{"index":7,"reasoning":"hm"}"#,
            ),
            (Says::Restart(True), r#"{"index":7,"restart":true}"#),
            (Says::Done(True), r#"{"index":7,"done":true}"#),
        ] {
            let message = TokenMessage { index: 7, says };
            assert_eq!(message.to_json(), written.as_bytes());
            let read: TokenMessage = serde_json::from_str(written).expect("a message");
            assert_eq!(read, message);
        }
    }

    #[test]
    fn what_says_nothing_that_is_known_is_no_message() {
        for none in [
            r#"{"index":7}"#,
            r#"{"content":"hi"}"#,
            r#"{"index":7,"done":false}"#,
            "7",
        ] {
            assert!(
                serde_json::from_str::<TokenMessage>(none).is_err(),
                "{none}"
            );
        }
    }

    #[test]
    fn words_stay_out_of_logs() {
        let message = TokenMessage {
            index: 0,
            says: Says::Content("the secret plan".to_owned()),
        };
        assert!(!format!("{message:?}").contains("secret"));
    }
}
