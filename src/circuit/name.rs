//! Which calls share a circuit.

use std::{fmt, sync::Arc};

/// Names a circuit: calls to one model on one host of one provider.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CircuitName(Arc<str>);

impl CircuitName {
    /// The circuit of `model` on `host` of `provider`.
    #[must_use]
    pub fn new(provider: &str, host: &str, model: &str) -> Self {
        Self(format!("{provider} {host} {model}").into())
    }

    /// The name as it is logged and counted.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CircuitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
