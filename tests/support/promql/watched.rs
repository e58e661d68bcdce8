//! The queries of the dashboard for Grafana and of the rules for alerts, and where each stands.

use serde_json::Value;

use super::Named;

/// Where the rules stand in a project's folder.
pub(crate) const RULES: &str = "config/alerts.yml";
/// Where the dashboard does.
pub(crate) const DASHBOARD: &str = "config/grafana/fleet.json";

/// A query, and what is shown of its answer.
#[derive(Debug)]
pub(crate) struct Query {
    /// In words, for a fault.
    pub(crate) place: String,
    pub(crate) text: String,
    /// Labels that a legend or an annotation shows.
    pub(crate) shown: Vec<String>,
}

impl Query {
    pub(crate) fn named(&self) -> Named {
        super::named(&self.text)
    }
}

/// A rule for an alert.
#[derive(Debug, Default)]
pub(crate) struct Rule {
    pub(crate) name: String,
    /// Every key with its text, `expr` among them.
    pub(crate) texts: Vec<(String, String)>,
}

impl Rule {
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        let found = self.texts.iter().find(|(it, _)| it == key);
        found.map(|(_, text)| text.trim())
    }

    pub(crate) fn query(&self) -> Query {
        let annotations = self.texts.iter().filter(|(key, _)| key != "expr");
        let shown = annotations.flat_map(|(_, text)| between(text, "{{ $labels.", " }}"));
        Query {
            place: self.name.clone(),
            text: self.text("expr").unwrap_or_default().to_owned(),
            shown: shown.collect(),
        }
    }
}

/// The rules of a file, which is written as ours is: a key a line, longer queries beneath theirs.
pub(crate) fn rules(yaml: &str) -> Vec<Rule> {
    let mut rules = Vec::<Rule>::new();
    for line in yaml.lines().filter(|it| !it.trim_start().starts_with('#')) {
        let written = line.trim();
        if let Some(name) = written.strip_prefix("- alert: ") {
            let name = name.to_owned();
            rules.push(Rule {
                name,
                ..Rule::default()
            });
            continue;
        }
        let Some(rule) = rules.last_mut() else {
            continue;
        };
        match (key_of(line), rule.texts.last_mut()) {
            (Some((key, text)), _) => rule.texts.push((key.to_owned(), text.to_owned())),
            (None, Some((_, text))) => text.extend([written, "\n"]),
            (None, None) => {}
        }
    }
    rules
}

/// The key and the text of a line that is a rule's own or one of its labels or annotations.
fn key_of(line: &str) -> Option<(&str, &str)> {
    let (key, text) = line.trim().split_once(':')?;
    let is_key = !key.is_empty() && key.bytes().all(|it| it.is_ascii_lowercase());
    is_key.then(|| (key, text.trim().trim_start_matches('|')))
}

/// The queries of a dashboard: of panels, of variables, of annotations.
pub(crate) fn dashboard(dashboard: &Value) -> Vec<Query> {
    let panels = list(dashboard, "/panels").flat_map(|panel| {
        let queries = list(panel, "/targets").map(|target| Query {
            place: text(panel, "title").to_owned(),
            text: text(target, "expr").to_owned(),
            shown: between(text(target, "legendFormat"), "{{", "}}"),
        });
        queries.collect::<Vec<_>>()
    });
    let variables = list(dashboard, "/templating/list").filter_map(variable);
    let annotations = list(dashboard, "/annotations/list").filter_map(|annotation| {
        Some(Query {
            place: text(annotation, "name").to_owned(),
            text: annotation.get("expr")?.as_str()?.to_owned(),
            shown: between(text(annotation, "titleFormat"), "{{", "}}"),
        })
    });
    panels.chain(variables).chain(annotations).collect()
}

/// A variable asks for the values of a label, which is no PromQL: asked for by grouping here.
fn variable(variable: &Value) -> Option<Query> {
    let asked = text(variable, "definition").strip_prefix("label_values(")?;
    let (selector, label) = asked.strip_suffix(')')?.rsplit_once(", ")?;
    Some(Query {
        place: format!("${}", text(variable, "name")),
        text: format!("count by ({label}) ({selector})"),
        shown: Vec::new(),
    })
}

/// The elements at a place; none where there is no list.
pub(crate) fn list<'v>(value: &'v Value, place: &str) -> impl Iterator<Item = &'v Value> {
    let list = value.pointer(place).and_then(Value::as_array);
    list.into_iter().flatten()
}

/// The text under a key; an empty one where there is none.
pub(crate) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// What stands between the two marks, wherever they do.
fn between(text: &str, opening: &str, closing: &str) -> Vec<String> {
    let parts = text.split(opening).skip(1);
    let inner = parts.filter_map(|part| part.split_once(closing));
    inner.map(|(inner, _)| inner.trim().to_owned()).collect()
}
