//! The template by which a skill's inputs become a prompt.
//!
//! Nothing is escaped, since a prompt is plain text. Never: words of the inputs in an error.

use std::{collections::BTreeSet, fmt};

use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, value::Serde};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::contract::{PROMPT_BYTES_MAX, Violation};

/// What the template calls the inputs.
const INPUTS: &str = "inputs";
const NAME: &str = "prompt";
/// How much work one rendering may be: about an instruction each, or 64 bytes of text.
const FUEL: u64 = 100_000;
const _: () = assert!(FUEL * 64 > 4 * PROMPT_BYTES_MAX as u64);

/// A template that compiles.
pub(super) struct PromptTemplate {
    environment: Environment<'static>,
    /// The inputs that it names, for whoever leaves one out.
    names: BTreeSet<String>,
}

/// What the template sees.
#[derive(Serialize)]
struct Seen<'v> {
    inputs: &'v Value,
}

impl PromptTemplate {
    /// The template `source` over inputs that `schema` describes.
    ///
    /// # Errors
    /// Everything that is wrong with it: it does not compile, it names what there is not, or it
    /// uses a filter, test or function that there is not.
    pub(super) fn compile(source: &str, schema: &Value) -> Result<Self, Vec<String>> {
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(FUEL));
        environment
            .add_template_owned(NAME, source.to_owned())
            .map_err(|error| vec![format!("does not compile: {}", explained(&error))])?;
        let undeclared = environment
            .get_template(NAME)
            .map(|it| it.undeclared_variables(true))
            .unwrap_or_default();
        let properties = schema.get("properties").and_then(Value::as_object);
        let no_properties = Map::new();
        let properties = properties.unwrap_or(&no_properties);
        let mut mistakes = Vec::new();
        let mut names = BTreeSet::new();
        for variable in undeclared.iter().collect::<BTreeSet<_>>() {
            match variable.split('.').collect::<Vec<_>>().as_slice() {
                [INPUTS] => {}
                [INPUTS, name, ..] if properties.contains_key(*name) => {
                    names.insert((*name).to_owned());
                }
                [INPUTS, name, ..] => mistakes.push(no_such_input(name, properties)),
                [name, ..] if environment.globals().any(|(global, _)| global == *name) => {}
                _ => mistakes.push(format!(
                    "names {variable}, yet all that it can name is {INPUTS} and what is in it"
                )),
            }
        }
        let template = Self { environment, names };
        mistakes.extend(template.tried(properties));
        if mistakes.is_empty() {
            Ok(template)
        } else {
            Err(mistakes)
        }
    }

    /// The prompt for `inputs`.
    ///
    /// # Errors
    /// Why there is none: the template cannot do with these inputs.
    pub(super) fn render(&self, inputs: &Value) -> Result<String, PromptError> {
        let rendered = self.rendered(inputs).map_err(|error| match error.kind() {
            ErrorKind::UndefinedError => PromptError::Missing {
                names: self.lacking(inputs),
            },
            ErrorKind::OutOfFuel => PromptError::TooMuchWork,
            kind => PromptError::Unfit {
                kind: kind.to_string(),
                line: error.line().unwrap_or_default(),
            },
        })?;
        if rendered.len() > PROMPT_BYTES_MAX {
            return Err(PromptError::TooLong);
        }
        Ok(rendered)
    }

    fn rendered(&self, inputs: &Value) -> Result<String, Error> {
        self.environment
            .get_template(NAME)?
            .render(Serde(Seen { inputs }))
    }

    fn lacking(&self, inputs: &Value) -> Vec<String> {
        let given = |name: &&String| inputs.get(name).is_some();
        self.names
            .iter()
            .filter(|name| !given(name))
            .cloned()
            .collect()
    }

    /// Filters and the like are looked up only when they are used, so it is tried once on made-up
    /// inputs. What those alone bring about is no mistake.
    fn tried(&self, properties: &Map<String, Value>) -> Option<String> {
        let made_up = properties.iter().map(|(name, it)| (name.clone(), any(it)));
        let error = self.rendered(&Value::Object(made_up.collect())).err()?;
        let unknown = matches!(
            error.kind(),
            ErrorKind::UnknownFilter
                | ErrorKind::UnknownFunction
                | ErrorKind::UnknownTest
                | ErrorKind::UnknownMethod
        );
        unknown.then(|| explained(&error))
    }
}

fn no_such_input(name: &str, properties: &Map<String, Value>) -> String {
    let known: Vec<_> = properties.keys().map(String::as_str).collect();
    match known.as_slice() {
        [] => format!("names {INPUTS}.{name}, yet the schema of the inputs has no properties"),
        known => format!(
            "names {INPUTS}.{name}, yet the inputs have only {}",
            known.join(", ")
        ),
    }
}

/// Some value for a property, of a type that its schema allows.
fn any(property: &Value) -> Value {
    let first = |key: &str| property.get(key).and_then(|it| it.get(0)).cloned();
    let known = property.get("default").or_else(|| property.get("const"));
    let told = known.cloned().or_else(|| first("enum"));
    told.or_else(|| first("examples")).unwrap_or_else(|| {
        let kind = property.get("type").and_then(Value::as_str);
        match kind.unwrap_or_default() {
            "object" => json!({}),
            "array" => json!([]),
            "integer" | "number" => json!(1),
            "boolean" => json!(true),
            _ => json!("text"),
        }
    })
}

/// What the template engine says, in one line.
fn explained(error: &Error) -> String {
    let line = error.line().map(|line| format!(" in line {line}"));
    let detail = error.detail().map(|detail| format!(": {detail}"));
    let [line, detail] = [line, detail].map(Option::unwrap_or_default);
    format!("{}{detail}{line}", error.kind()).replace('\n', " ")
}

impl fmt::Debug for PromptTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PromptTemplate(over {:?})", self.names)
    }
}

/// Why inputs that hold the schema make no prompt all the same.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// The template uses what the schema does not ask for.
    #[error("the prompt needs inputs that were left out: {}", names.join(", "))]
    Missing {
        /// The inputs that the template names and that are not there.
        names: Vec<String>,
    },
    /// The prompt would be longer than a request's may be.
    #[error("the prompt would be longer than {PROMPT_BYTES_MAX} bytes: shorten the inputs")]
    TooLong,
    /// Too many steps.
    #[error("the inputs are too much work for the skill's template: shorten them")]
    TooMuchWork,
    /// The template cannot do with such values.
    #[error("the skill's template cannot take these inputs: {kind} in its line {line}")]
    Unfit {
        /// What it could not do.
        kind: String,
        /// Where in the template.
        line: usize,
    },
}

impl PromptError {
    /// The same as violations of what the skill asks for, never empty.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        match self {
            Self::Missing { names } if !names.is_empty() => names
                .iter()
                .map(|name| {
                    let field = format!("{INPUTS}.{name}");
                    Violation::new(field, "a value, as the prompt is made of it", "nothing")
                })
                .collect(),
            Self::Missing { .. } | Self::TooLong | Self::TooMuchWork | Self::Unfit { .. } => {
                vec![Violation::new(INPUTS, "what makes a prompt", self)]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "tone": {"enum": ["plain", "warm"]},
                "lines": {"type": "array"},
            },
            "required": ["text"],
        })
    }

    fn compile(source: &str) -> Result<PromptTemplate, Vec<String>> {
        PromptTemplate::compile(source, &schema())
    }

    fn render(source: &str, inputs: &Value) -> Result<String, PromptError> {
        compile(source).expect("compiles").render(inputs)
    }

    #[test]
    fn inputs_stand_in_the_prompt_as_they_are() {
        let inputs = json!({"text": "<a> & \"b\"\n{{ inputs.tone }}", "lines": [1, "x"]});
        let source = "Say: {{ inputs.text }}{% for l in inputs.lines %};{{ l }}{% endfor %}";
        assert_eq!(
            render(source, &inputs).expect("a prompt"),
            "Say: <a> & \"b\"\n{{ inputs.tone }};1;x"
        );
        let whole = render("{{ inputs|tojson }}", &json!({"text": "a"}));
        assert_eq!(whole.expect("a prompt"), r#"{"text": "a"}"#);
    }

    #[test]
    fn what_is_left_out_is_an_error_unless_the_template_provides_for_it() {
        let missing = render("{{ inputs.text }} {{ inputs.tone }}", &json!({"text": "a"}));
        let missing = missing.expect_err("no tone");
        let names = vec!["tone".to_owned()];
        assert_eq!(missing, PromptError::Missing { names });
        let fields: Vec<_> = missing
            .violations()
            .into_iter()
            .map(|it| it.field)
            .collect();
        assert_eq!(fields, ["inputs.tone"]);
        let provided = "{{ inputs.text }} {{ inputs.tone|default('plain') }}";
        let prompt = render(provided, &json!({"text": "a"})).expect("a prompt");
        assert_eq!(prompt, "a plain");
    }

    #[test]
    fn a_template_that_cannot_work_is_told_at_once_with_every_reason() {
        for (source, says) in [
            ("{{ inputs.text", "does not compile"),
            ("{% if %}", "does not compile"),
            (
                "{{ inputs.body }}",
                "names inputs.body, yet the inputs have only text, tone, lines",
            ),
            (
                "{{ text }}",
                "names text, yet all that it can name is inputs",
            ),
            (
                "{{ inputs.text|shout }}",
                "unknown filter: filter shout is unknown in line 1",
            ),
            ("{% include 'other' %}", "does not compile"),
        ] {
            let mistakes = compile(source).expect_err(source);
            assert!(mistakes[0].starts_with(says), "{source}: {mistakes:?}");
        }
        let both = compile("{{ a }} {{ inputs.b }}").expect_err("two");
        assert_eq!(both.len(), 2, "{both:?}");
        let bare = PromptTemplate::compile("{{ inputs.a }}", &json!({"type": "object"}));
        assert!(bare.expect_err("no properties")[0].contains("has no properties"));
        assert!(compile("{% for i in range(2) %}{{ i }}{% endfor %}").is_ok());
    }

    #[test]
    fn neither_a_prompt_nor_the_work_for_it_is_without_bound() {
        let long = json!({"text": "x".repeat(PROMPT_BYTES_MAX / 2)});
        let twice = render("{{ inputs.text }}{{ inputs.text }}.", &long);
        assert_eq!(twice, Err(PromptError::TooLong));
        let one = render("{{ inputs.text }}", &long).expect("fits");
        assert_eq!(one.len(), PROMPT_BYTES_MAX / 2);
        let source =
            "{% for a in inputs.lines %}{% for b in inputs.lines %}{% endfor %}{% endfor %}";
        let many = json!({"lines": vec![0; 2_000]});
        assert_eq!(render(source, &many), Err(PromptError::TooMuchWork));
    }

    #[test]
    fn an_error_repeats_no_word_of_the_inputs() {
        let odd = render("{{ inputs.text + 1 }}", &json!({"text": "secret"}));
        let error = odd.expect_err("no sum");
        assert!(
            matches!(error, PromptError::Unfit { line: 1, .. }),
            "{error:?}"
        );
        assert!(!error.to_string().contains("secret"), "{error}");
        assert_eq!(error.violations().len(), 1);
    }
}
