//! One descriptor as a [`Skill`], or everything that is wrong with it.
//!
//! Never: a file; the bytes are handed over, and the file is only named.

use std::{path::Path, time::Duration};

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::{
    Retry, Skill,
    endpoint::{Endpoints, check},
    fields::{Fields, Mistakes, unexpected},
    prompt::PromptTemplate,
    published::Described,
};
use crate::{
    contract::{ActionName, Lane, Parsed, PurutoName, TimeoutSec},
    gateway::auth::AuthScheme,
    policy::Finding,
    runtime::contract::AnswerSchema,
};

/// Every key of a descriptor, in the order in which they are published; `puruto` never is.
pub(super) const KEYS: [&str; 13] = [
    "protocol",
    "id",
    "name",
    "version",
    "capability_type",
    "description",
    "provider",
    "endpoint",
    "inputs",
    "output",
    "auth",
    "access",
    "puruto",
];
/// Every key of its `endpoint`.
pub(super) const ENDPOINT_KEYS: [&str; 3] = ["invocation_endpoint", "status_url", "result_url"];
/// Every key of its `puruto`.
pub(super) const PURUTO_KEYS: [&str; 6] = [
    "target",
    "action",
    "prompt",
    "timeout_sec",
    "priority",
    "retry",
];
/// Every key of its `puruto.retry`.
pub(super) const RETRY_KEYS: [&str; 2] = ["suggested_delay_ms", "max_attempts"];

/// Longest name, version and the like, in characters.
const LINE_CHARS_MAX: usize = 200;
/// Longest description, in characters.
const DESCRIPTION_CHARS_MAX: usize = 10_000;
/// Longest delay before a retry that is suggested.
const DELAY_MAX: Duration = Duration::from_secs(3_600);
/// Most attempts that are suggested.
const ATTEMPTS_MAX: u64 = 100;

/// Reads the descriptor `bytes`; `file` is only named.
///
/// # Errors
/// Everything that is wrong with it.
pub(super) fn read(file: &Path, bytes: &[u8]) -> Result<Skill, Vec<Finding>> {
    let mut mistakes = Mistakes::of(file);
    let skill = document(bytes, &mut mistakes).and_then(|fields| {
        let mut reader = Reader {
            fields,
            mistakes: &mut mistakes,
        };
        let skill = reader.skill(file, Sha256::digest(bytes).into());
        let Reader { fields, mistakes } = reader;
        fields.none_left(&KEYS, mistakes);
        skill
    });
    match skill {
        Some(skill) if mistakes.is_empty() => Ok(skill),
        Some(_) | None => Err(mistakes.into_findings()),
    }
}

fn document(bytes: &[u8], mistakes: &mut Mistakes<'_>) -> Option<Fields> {
    let Parsed { value, violations } = Parsed::from_slice(bytes)
        .map_err(|violation| mistakes.note("", violation))
        .ok()?;
    for doubled in violations {
        mistakes.note("", doubled);
    }
    Fields::of(String::new(), value, mistakes)
}

struct Reader<'m, 'f> {
    fields: Fields,
    mistakes: &'m mut Mistakes<'f>,
}

impl Reader<'_, '_> {
    /// None as soon as a part cannot be read, yet only once all of them were looked at.
    fn skill(&mut self, file: &Path, written: [u8; 32]) -> Option<Skill> {
        let id = self.fields.need_parsed("id", self.mistakes);
        let described = self.described();
        let endpoints = self.endpoints();
        let inputs = self.schema("inputs");
        let output = self.schema("output");
        let auth = self.auth();
        let puruto = self.fields.need("puruto", "an object", self.mistakes);
        let served = puruto.and_then(|value| {
            let fields = Fields::of(self.fields.place("puruto"), value, self.mistakes)?;
            Some(Served::read(fields, inputs.as_ref(), self.mistakes))
        });
        let served = served?;
        Some(Skill {
            file: file.to_owned(),
            id: id?,
            described: described?,
            endpoints,
            inputs: inputs?,
            output: output?,
            auth: auth?,
            target: served.target?,
            action: served.action?,
            prompt: served.prompt?,
            timeout: served.timeout,
            lane: served.lane,
            retry: served.retry,
            written,
        })
    }

    fn described(&mut self) -> Option<Described> {
        let protocol = self.line("protocol");
        let name = self.line("name");
        let version = self.line("version");
        let capability_type = self.line("capability_type");
        let description = self.within("description", DESCRIPTION_CHARS_MAX);
        let provider = self.provider();
        let access = self.fields.take("access");
        if let Some(value) = &access {
            self.is_object("access", value);
        }
        Some(Described {
            protocol: protocol?,
            name: name?,
            version: version?,
            capability_type: capability_type?,
            description: description?,
            provider: provider?,
            access: access.unwrap_or_else(|| Value::Object(Map::new())),
        })
    }

    /// A text in one line.
    fn line(&mut self, key: &str) -> Option<String> {
        let text = self.within(key, LINE_CHARS_MAX)?;
        if text.chars().any(char::is_control) {
            let place = self.fields.place(key);
            self.mistakes
                .note(&place, "holds a line break or another control character");
        }
        Some(text)
    }

    fn within(&mut self, key: &str, chars_max: usize) -> Option<String> {
        let text = self.fields.need_text(key, self.mistakes)?;
        let chars = text.chars().count();
        if chars == 0 || chars > chars_max {
            let why = format!("expected 1 to {chars_max} characters, got {chars}");
            self.mistakes.note(&self.fields.place(key), why);
        }
        Some(text)
    }

    /// Who offers it: free, but for `name` and `url`.
    fn provider(&mut self) -> Option<Value> {
        let expected = "an object with the provider's name";
        let provider = self.fields.need("provider", expected, self.mistakes)?;
        if self.is_object("provider", &provider) {
            let at = |key| format!("{}/{key}", self.fields.place("provider"));
            if !provider.get("name").is_some_and(Value::is_string) {
                self.mistakes.note(&at("name"), "expected a text");
            }
            match provider.get("url") {
                None => {}
                Some(Value::String(url)) => {
                    if let Err(why) = check(url) {
                        self.mistakes.note(&at("url"), why);
                    }
                }
                Some(other) => self
                    .mistakes
                    .note(&at("url"), unexpected("an address", other)),
            }
        }
        Some(provider)
    }

    fn is_object(&mut self, key: &str, value: &Value) -> bool {
        if !value.is_object() {
            let place = self.fields.place(key);
            self.mistakes.note(&place, unexpected("an object", value));
        }
        value.is_object()
    }

    fn endpoints(&mut self) -> Endpoints {
        let Some(mut fields) = self.fields.object("endpoint", self.mistakes) else {
            return Endpoints::default();
        };
        let [invocation, status, result] = ENDPOINT_KEYS;
        let endpoints = Endpoints {
            invocation: fields.parsed(invocation, self.mistakes),
            status: fields.parsed(status, self.mistakes),
            result: fields.parsed(result, self.mistakes),
        };
        fields.none_left(&ENDPOINT_KEYS, self.mistakes);
        endpoints
    }

    fn schema(&mut self, key: &str) -> Option<AnswerSchema> {
        let source = self.fields.need(key, "a JSON Schema", self.mistakes)?;
        let place = self.fields.place(key);
        if key == "inputs" && source.get("type").and_then(Value::as_str) != Some("object") {
            let place = format!("{place}/type");
            let why = "expected \"object\", as inputs are one";
            self.mistakes.note(&place, why);
        }
        let refused = match AnswerSchema::compile(source) {
            Ok(schema) => return Some(schema),
            Err(refused) => refused,
        };
        let why = format!("is no JSON Schema: {}", refused.why);
        self.mistakes.note(&format!("{place}{}", refused.at), why);
        None
    }

    fn auth(&mut self) -> Option<AuthScheme> {
        let expected = "an object with the type none, api_key or oauth2";
        let value = self.fields.need("auth", expected, self.mistakes)?;
        let read = serde_json::from_value(value);
        let place = self.fields.place("auth");
        read.map_err(|why| self.mistakes.note(&place, why)).ok()
    }
}

/// What a descriptor says of how its skill is served.
struct Served {
    target: Option<PurutoName>,
    action: Option<ActionName>,
    prompt: Option<PromptTemplate>,
    timeout: Option<TimeoutSec>,
    lane: Lane,
    retry: Retry,
}

impl Served {
    fn read(
        mut fields: Fields,
        inputs: Option<&AnswerSchema>,
        mistakes: &mut Mistakes<'_>,
    ) -> Self {
        let target = fields.need_parsed("target", mistakes);
        let action = fields.need_parsed("action", mistakes);
        let template = fields.need_text("prompt", mistakes);
        // Without a schema there is nothing to hold it against.
        let prompt = template.zip(inputs).and_then(|(template, inputs)| {
            let compiled = PromptTemplate::compile(&template, inputs.source());
            let place = fields.place("prompt");
            let told = |all: Vec<_>| all.iter().for_each(|why| mistakes.note(&place, why));
            compiled.map_err(told).ok()
        });
        let timeout = fields.whole(
            "timeout_sec",
            TimeoutSec::EXPECTED,
            TimeoutSec::new,
            mistakes,
        );
        let lane = fields.parsed("priority", mistakes);
        let retry = Retry::read(fields.object("retry", mistakes), mistakes);
        fields.none_left(&PURUTO_KEYS, mistakes);
        Self {
            target,
            action,
            prompt,
            timeout,
            lane: lane.unwrap_or_default(),
            retry,
        }
    }
}

impl Retry {
    fn read(fields: Option<Fields>, mistakes: &mut Mistakes<'_>) -> Self {
        let mut retry = Self::default();
        let Some(mut fields) = fields else {
            return retry;
        };
        let [delay, attempts] = RETRY_KEYS;
        let most = DELAY_MAX.as_millis();
        let made = |millis| Some(Duration::from_millis(millis)).filter(|it| *it <= DELAY_MAX);
        let expected = format!("an integer from 0 to {most}");
        if let Some(told) = fields.whole(delay, &expected, made, mistakes) {
            retry.suggested_delay = told;
        }
        let made = |count: u64| u32::try_from(count).ok().filter(|_| count <= ATTEMPTS_MAX);
        let expected = format!("an integer from 0 to {ATTEMPTS_MAX}");
        if let Some(told) = fields.whole(attempts, &expected, made, mistakes) {
            retry.max_attempts = told;
        }
        fields.none_left(&RETRY_KEYS, mistakes);
        retry
    }
}

#[cfg(test)]
#[path = "descriptor_tests.rs"]
mod tests;
