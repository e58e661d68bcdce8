//! The description as a page: no script, nothing from elsewhere.

use minijinja::{AutoEscape, Environment, value::Serde};
use serde_json::Value;

const TEMPLATE: &str = include_str!("page.html");

/// The page of an OpenAPI document.
pub(super) fn of(document: &Value) -> String {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let page = environment.render_str(TEMPLATE, Serde(document));
    page.expect("the template fits every OpenAPI document")
}
