//! Attributes that are lists by convention; `tracing` knows none.
//!
//! Never: a list of more than one.

use opentelemetry::{Array, Value};
use opentelemetry_sdk::trace::SpanData;

const LISTS: &[&str] = &["gen_ai.response.finish_reasons"];

/// The same spans, with each text that should be a list as the list of that text.
pub(super) fn listed(mut batch: Vec<SpanData>) -> Vec<SpanData> {
    let attributes = batch.iter_mut().flat_map(|span| &mut span.attributes);
    for attribute in attributes.filter(|it| LISTS.contains(&it.key.as_str())) {
        if let Value::String(text) = &attribute.value {
            attribute.value = Value::Array(Array::String(vec![text.clone()]));
        }
    }
    batch
}
