//! JSON read strictly: duplicate keys and deep nesting are violations, not accidents.
//!
//! `serde_json` alone keeps the last of two equal keys, so that two readers of one message could
//! see two different requests.

use std::{collections::BTreeSet, fmt};

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::Violation;

/// Deepest nesting of arrays and objects that is read.
pub const DEPTH_MAX: usize = 64;

/// A JSON document and what is wrong with its form.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The document; of duplicate keys the first is kept.
    pub value: Value,
    /// Duplicate keys, by path.
    pub violations: Vec<Violation>,
}

impl Parsed {
    /// Reads `bytes` as one JSON document.
    ///
    /// # Errors
    /// What is wrong when no document can be read at all: bytes that are no UTF-8, no JSON, a
    /// number out of range, nesting deeper than [`DEPTH_MAX`], anything after the document.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, Violation> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            Violation::new(
                "$",
                "UTF-8 text",
                format_args!("invalid byte at offset {at}"),
            )
        })?;
        let mut duplicates = BTreeSet::new();
        let mut reader = serde_json::Deserializer::from_str(text);
        let node = Node {
            path: &Path::Root,
            depth: 0,
            duplicates: &mut duplicates,
        };
        let value = node
            .deserialize(&mut reader)
            .and_then(|value| reader.end().map(|()| value))
            .map_err(|error| Violation::new("$", "one JSON document", error))?;
        let violations = duplicates
            .into_iter()
            .map(|path| Violation::new(path, "one value a key", "the key twice"))
            .collect();
        Ok(Self { value, violations })
    }
}

/// Where in the document the reader stands, as a list that borrows its parent.
enum Path<'p> {
    Root,
    Key(&'p Self, &'p str),
    Item(&'p Self, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Key(Path::Root, key) => f.write_str(key),
            Path::Key(parent, key) => write!(f, "{parent}.{key}"),
            Path::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

struct Node<'p, 'd> {
    path: &'p Path<'p>,
    depth: usize,
    duplicates: &'d mut BTreeSet<String>,
}

impl Node<'_, '_> {
    fn descend<E: serde::de::Error>(&self) -> Result<usize, E> {
        let depth = self.depth + 1;
        if depth > DEPTH_MAX {
            return Err(E::custom(format_args!(
                "nesting deeper than {DEPTH_MAX} levels"
            )));
        }
        Ok(depth)
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        Number::from_f64(number)
            .map(Value::Number)
            .ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let depth = self.descend()?;
        let mut list = Vec::new();
        loop {
            let node = Node {
                path: &Path::Item(self.path, list.len()),
                depth,
                duplicates: self.duplicates,
            };
            match items.next_element_seed(node)? {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let depth = self.descend()?;
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let path = Path::Key(self.path, &key);
            let node = Node {
                path: &path,
                depth,
                duplicates: self.duplicates,
            };
            let value = entries.next_value_seed(node)?;
            if object.contains_key(&key) {
                self.duplicates.insert(path.to_string());
            } else {
                object.insert(key, value);
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> Violation {
        Parsed::from_slice(bytes).expect_err("no document")
    }

    #[test]
    fn a_document_reads_as_serde_json_reads_it() {
        let text = r#"{"a":[1,-2,3.5,null,true],"b":{"c":"d"}}"#;
        let parsed = Parsed::from_slice(text.as_bytes()).expect("valid");
        assert_eq!(
            parsed.value,
            serde_json::from_str::<Value>(text).expect("valid")
        );
        assert_eq!(parsed.violations, []);
    }

    #[test]
    fn every_duplicate_key_is_named_by_its_path() {
        let parsed = Parsed::from_slice(br#"{"a":1,"a":2,"b":[{"c":1,"c":2}]}"#).expect("readable");
        let fields: Vec<_> = parsed
            .violations
            .iter()
            .map(|it| it.field.as_str())
            .collect();
        assert_eq!(fields, ["a", "b[0].c"]);
        assert_eq!(parsed.value["a"], 1);
    }

    #[test]
    fn what_is_no_document_says_why() {
        assert!(refused(b"\xff").actual.contains("offset 0"));
        assert!(refused(b"").actual.contains("EOF"));
        assert!(refused(b"{} {}").actual.contains("trailing"));
        assert!(refused(b"1e999").actual.contains("out of range"));
        assert!(refused(b"NaN").actual.contains("expected"));
        assert!(refused(b"\xEF\xBB\xBF{}").actual.contains("expected"));
    }

    #[test]
    fn sixty_four_levels_pass_and_one_more_does_not() {
        let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
        assert!(Parsed::from_slice(&nested(DEPTH_MAX)).is_ok());
        assert!(refused(&nested(DEPTH_MAX + 1)).actual.contains("64 levels"));
        assert!(refused(&nested(100_000)).actual.contains("64 levels"));
    }
}
