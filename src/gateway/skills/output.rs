//! What a skill's caller is given of a result: what the skill's descriptor promises, as far as the
//! result holds it.
//!
//! The first of these that holds the output schema:
//!
//! 1. JSON that the answer is: `output.json`, or what `output.content`, `output.answer` or
//!    `summary` say, with a fence around all of it taken off;
//! 2. the properties that the schema names, out of `output`, then out of the result itself;
//! 3. the answer's text as the one property that the schema requires;
//! 4. `{"summary": ...}`, then the answer's text alone.
//!
//! Where none of them does, `{"summary": ...}`: the caller sees what came out, and that it is not
//! what was promised.

use serde_json::{Map, Value, json};

use crate::runtime::contract::{AnswerSchema, unfenced};

/// The result `result` in the form of `schema`, as far as it can have it.
pub(super) fn shaped(schema: &AnswerSchema, result: &Value) -> Value {
    let answer = Answer::of(result);
    let candidates = answer
        .json()
        .chain(answer.named_by(schema))
        .chain(answer.as_the_one_property(schema))
        .chain([answer.summary(), Value::from(answer.text)]);
    candidates
        .into_iter()
        .find(|candidate| schema.is_held_by(candidate))
        .unwrap_or_else(|| answer.summary())
}

/// What a result says: its text, and its JSON where its worker read some.
pub(in crate::gateway) fn answer_of(result: &Value) -> (&str, Option<&Value>) {
    let Answer { text, output, .. } = Answer::of(result);
    (text, output.get("json"))
}

/// What a result says, wherever its worker put it.
struct Answer<'r> {
    result: &'r Value,
    output: &'r Value,
    /// The whole answer; the summary may be cut.
    text: &'r str,
}

impl<'r> Answer<'r> {
    fn of(result: &'r Value) -> Self {
        let output = result.get("output").unwrap_or(&Value::Null);
        let texts = [
            output.get("content"),
            output.get("answer"),
            result.get("summary"),
        ];
        let text = texts.into_iter().flatten().find_map(Value::as_str);
        Self {
            result,
            output,
            text: text.unwrap_or_default(),
        }
    }

    fn json(&self) -> impl Iterator<Item = Value> + use<> {
        let read = self.output.get("json").cloned();
        let said = unfenced(self.text).unwrap_or(self.text);
        // A number or a word that happens to be JSON is text.
        let structured = |value: &Value| value.is_object() || value.is_array();
        let said = serde_json::from_str(said).ok().filter(structured);
        read.into_iter().chain(said)
    }

    fn named_by(&self, schema: &AnswerSchema) -> impl Iterator<Item = Value> + use<> {
        let names: Vec<_> = properties(schema).cloned().collect();
        let named = [self.output, self.result].map(|from| {
            let there = names
                .iter()
                .filter_map(|name| Some((name.clone(), from.get(name)?.clone())));
            there.collect::<Map<_, _>>()
        });
        let found = named.into_iter().filter(|it| !it.is_empty());
        found.map(Value::Object)
    }

    fn as_the_one_property(&self, schema: &AnswerSchema) -> Option<Value> {
        let required = schema.source().get("required")?.as_array()?;
        match required.as_slice() {
            [Value::String(only)] => Some(json!({ only: self.text })),
            _ => None,
        }
    }

    fn summary(&self) -> Value {
        json!({ "summary": self.text })
    }
}

fn properties(schema: &AnswerSchema) -> impl Iterator<Item = &String> {
    let properties = schema.source().get("properties");
    properties
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shaped(schema: Value, result: &Value) -> Value {
        let schema = AnswerSchema::compile(schema).expect("a schema");
        super::shaped(&schema, result)
    }

    fn translation() -> Value {
        json!({
            "type": "object",
            "properties": {
                "translated_text": {"type": "string"},
                "confidence": {"type": "number"},
            },
            "required": ["translated_text"],
        })
    }

    #[test]
    fn an_answer_that_is_the_promised_json_is_the_output() {
        let wanted = json!({"translated_text": "你好", "confidence": 0.98});
        let text = wanted.to_string();
        for result in [
            json!({"summary": "{...", "output": {"content": "x", "json": wanted}}),
            json!({"summary": "{...", "output": {"content": text}}),
            json!({"summary": "...", "output": {"content": format!("```json\n{text}\n```")}}),
            json!({"summary": "...", "output": {"answer": text}}),
            json!({"summary": text}),
        ] {
            assert_eq!(shaped(translation(), &result), wanted, "{result}");
        }
    }

    #[test]
    fn the_properties_that_the_schema_names_are_taken_out_of_the_result() {
        let sourced = json!({
            "type": "object",
            "properties": {"answer": {"type": "string"}, "sources": {"type": "array"}},
            "required": ["answer", "sources"],
        });
        let run = json!({
            "summary": "Port 5433", "spent": {},
            "output": {"answer": "Port 5433", "sources": ["a.md"], "steps": 4},
        });
        let wanted = json!({"answer": "Port 5433", "sources": ["a.md"]});
        assert_eq!(shaped(sourced, &run), wanted);
        let counted = json!({
            "properties": {"summary": {}, "rows": {"type": "integer"}}, "required": ["rows"],
        });
        let command = json!({"summary": "two", "rows": 2, "took": 1});
        let wanted = json!({"summary": "two", "rows": 2});
        assert_eq!(shaped(counted, &command), wanted);
    }

    #[test]
    fn a_plain_answer_is_the_one_property_that_is_required() {
        let result = json!({"summary": "Hola", "output": {"content": "Hola\nmundo"}});
        let wanted = json!({"translated_text": "Hola\nmundo"});
        assert_eq!(shaped(translation(), &result), wanted);
    }

    #[test]
    fn without_a_promise_it_is_the_summary() {
        let result =
            json!({"summary": "Paid", "output": {"content": "Paid\nin full", "model": "m"}});
        let wanted = json!({"summary": "Paid\nin full"});
        for open in [json!(true), json!({}), json!({"type": "object"})] {
            assert_eq!(shaped(open, &result), wanted);
        }
        let texts = json!({"type": "string"});
        assert_eq!(shaped(texts, &result), "Paid\nin full");
    }

    #[test]
    fn a_result_that_breaks_the_promise_is_shown_all_the_same() {
        let strict = json!({
            "type": "object", "required": ["a", "b"], "additionalProperties": false,
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        });
        let result = json!({"summary": "{\"a\": 1}"});
        assert_eq!(
            shaped(strict.clone(), &result),
            json!({"summary": "{\"a\": 1}"})
        );
        assert_eq!(shaped(strict, &json!(null)), json!({"summary": ""}));
    }
}
