//! Purutos that ask others, and the model at the end of the chain.
//!
//! A program in Python does what its prompt says: whom to ask for what, and how many of them to
//! wait for.

pub(crate) mod leaves;

use serde_json::{Value, json};

/// The program; `asking.py` says what its prompt can be.
const PROGRAM: &str = include_str!("asking.py");

/// The `worker.toml` of a Puruto that asks others, `concurrency` requests at once.
pub(crate) fn asker(concurrency: usize) -> String {
    asker_with(concurrency, "")
}

/// The same, with more keys.
pub(crate) fn asker_with(concurrency: usize, keys: &str) -> String {
    assert!(!PROGRAM.contains("'''"), "it would end the text");
    format!(
        "kind = \"command\"\nconcurrency = {concurrency}\n{keys}\n\
         [command]\nargv = ['python3', '-c', '''\n{PROGRAM}''']\n"
    )
}

/// A child to be asked: `target` for `prompt`.
pub(crate) fn child(target: &str, prompt: impl Into<Value>) -> Value {
    json!({"target": target, "action": "do", "prompt": prompt.into()})
}

/// The prompt of a parent that waits for all of these children.
pub(crate) fn ask(children: &[Value]) -> Value {
    json!({"ask": children})
}

/// The policy of a Puruto that may ask these targets, in chains of at most `max_hops`.
pub(crate) fn policy(owner: &str, targets: &[&str], max_hops: u64) -> String {
    json!({"owner": owner, "max_hops": max_hops, "allowed_targets": targets}).to_string()
}
