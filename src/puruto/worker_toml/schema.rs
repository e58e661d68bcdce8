//! `response_schema`: a file beside `worker.toml`, or the schema itself.
//!
//! Never: a file outside the Puruto's folder.

use std::path::{Component, Path};

use toml::Value;

use super::Keys;
use crate::{
    contract::Violation,
    policy::{Finding, FindingCode},
    runtime::contract::{AnswerSchema, AnswerShape, InvalidSchema},
};

const KEY: &str = "response_schema";
const EXPECTED: &str = "the name of a JSON file in the Puruto's folder, or a table";
const CODE: FindingCode = FindingCode::InvalidWorkerConfig;

impl Keys<'_> {
    /// The form that the schema gives answers; any text where there is none, or none that is one.
    pub(super) fn answer(&mut self) -> AnswerShape {
        let schema = match self.table.remove(KEY) {
            None => None,
            Some(Value::String(name)) => self.schema_in(Path::new(&name)),
            Some(Value::Table(table)) => self.schema_of(table),
            Some(other) => {
                self.error(CODE, &Violation::new(KEY, EXPECTED, other.type_str()));
                None
            }
        };
        schema.map_or(AnswerShape::Text, AnswerShape::Schema)
    }

    fn schema_of(&mut self, table: toml::Table) -> Option<AnswerSchema> {
        let source = self.fit(KEY, Value::Table(table))?;
        let refused = match AnswerSchema::compile(source) {
            Ok(schema) => return Some(schema),
            Err(refused) => refused,
        };
        let key = format!("{KEY}{}", refused.at.replace('/', "."));
        self.findings
            .push(Finding::at(CODE, self.file, &key, refused.why));
        None
    }

    fn schema_in(&mut self, name: &Path) -> Option<AnswerSchema> {
        let inside = |part| matches!(part, Component::Normal(_));
        if name.as_os_str().is_empty() || !name.components().all(inside) {
            let why = Violation::new(KEY, EXPECTED, name.display());
            self.error(CODE, &why);
            return None;
        }
        let file = self.file.with_file_name(name);
        let bytes = match (self.beside)(name) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                let why = format!("names {}, which is not there", file.display());
                self.findings.push(Finding::at(CODE, self.file, KEY, why));
                return None;
            }
            Err(error) => {
                self.findings.push(Finding::whole(CODE, &file, error));
                return None;
            }
        };
        match schema_from(&bytes) {
            Ok(schema) => Some(schema),
            Err(InvalidSchema { at, why }) => {
                let place = if at.is_empty() { "$" } else { at.as_str() };
                self.findings.push(Finding::at(CODE, &file, place, why));
                None
            }
        }
    }
}

fn schema_from(bytes: &[u8]) -> Result<AnswerSchema, InvalidSchema> {
    let source = serde_json::from_slice(bytes).map_err(|error| InvalidSchema {
        at: String::new(),
        why: format!("is no JSON: {error}"),
    })?;
    AnswerSchema::compile(source)
}
