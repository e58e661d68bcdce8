//! Token counts where a server gives none.
//!
//! Never: unmarked, or zero for want of a better number.

use serde_json::{Map, Value};

use crate::runtime::ModelCall;

/// How many characters a token has, roughly.
const CHARS_PER_TOKEN: usize = 4;

/// Roughly the tokens of what was asked.
pub(super) fn asked(call: &ModelCall) -> Value {
    tokens(call.messages.iter().map(|it| &*it.content))
}

/// Roughly the tokens of an answer.
pub(super) fn answered(content: &Value) -> Value {
    tokens(content.as_str())
}

/// Says of an answer that its usage is an estimate.
pub(super) fn mark(metadata: &mut Map<String, Value>) {
    metadata.insert("usage_estimated".to_owned(), true.into());
}

fn tokens<'t>(texts: impl IntoIterator<Item = &'t str>) -> Value {
    let chars: usize = texts.into_iter().map(|text| text.chars().count()).sum();
    chars.div_ceil(CHARS_PER_TOKEN).into()
}
