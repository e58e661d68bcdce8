//! The process's environment as a value, read once.

use std::{collections::BTreeMap, env, fmt};

/// The environment as it was when the process asked. A variable that is empty counts as not set,
/// as `OpenTelemetry` has it; one that is no Unicode is left out.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Reads the environment of this process.
    #[must_use]
    pub fn of_process() -> Self {
        let texts = env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        texts.collect()
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The value of a variable, for those who take a closure.
    #[must_use]
    pub fn lookup(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }

    /// Every variable that is set.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let pairs = pairs
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        Self(
            pairs
                .filter(|(_, value): &(_, String)| !value.is_empty())
                .collect(),
        )
    }
}

impl fmt::Debug for Environment {
    /// The names alone: values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
