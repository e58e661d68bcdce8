//! The layers laid over each other: what stands for each key, and who put it there.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use super::{
    Key, Mistake, Mistakes, key,
    setting::{Raw, Setting},
};

/// Where a value was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nowhere: it is the default.
    Default,
    /// In a TOML file.
    File {
        /// Its path as given.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// In what `puruto dev` left behind.
    DevEnv {
        /// Its path.
        path: PathBuf,
        /// The variable in it.
        variable: String,
    },
    /// In the environment.
    Variable(String),
    /// On the command line.
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::DevEnv { path, variable } => write!(f, "{} {variable}", path.display()),
            Self::Variable(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A value and who gave it.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) raw: Raw,
    pub(super) source: Source,
}

/// What stands for each key, the strongest layer winning.
#[derive(Debug)]
pub(super) struct Layers(BTreeMap<(&'static str, &'static str), Given>);

impl Layers {
    /// The weakest layer: every key with its default.
    pub(super) fn of_defaults() -> Self {
        let default = |key: &Key| Given {
            raw: Raw::Text(key.default.to_owned()),
            source: Source::Default,
        };
        Self(
            key::keys()
                .map(|key| ((key.section, key.name), default(key)))
                .collect(),
        )
    }

    /// Lays a value over what stands for `key`.
    pub(super) fn put(&mut self, key: &Key, raw: Raw, source: Source) {
        self.0
            .insert((key.section, key.name), Given { raw, source });
    }

    /// The same for the key that is called `name`, if there is one; else that is noted.
    pub(super) fn lay(&mut self, name: &str, raw: Raw, source: Source, mistakes: &mut Mistakes) {
        match key::find(name) {
            Some(key) => self.put(key, raw, source),
            None => mistakes.note(Mistake::Unknown {
                key: name.to_owned(),
                at: source,
                allowed: key::beside(name),
            }),
        }
    }

    /// What stands for `key`.
    pub(super) fn get(&self, key: &Key) -> Option<&Given> {
        self.0.get(&(key.section, key.name))
    }

    /// Reads what stands for a key; the default when it cannot be read, which is noted.
    pub(super) fn read<T: Setting>(
        &self,
        section: &'static str,
        name: &'static str,
        default: &'static str,
        mistakes: &mut Mistakes,
    ) -> T {
        if let Some(given) = self.0.get(&(section, name)) {
            match T::parse(&given.raw) {
                Ok(value) => return value,
                Err(why) => mistakes.note(Mistake::Value {
                    key: format!("{section}.{name}"),
                    value: format!("{:?}", T::shown(&given.raw.to_string())),
                    at: given.source.clone(),
                    why,
                    allowed: T::allowed(),
                }),
            }
        }
        T::parse(&Raw::Text(default.to_owned())).expect("a default is a value of its key")
    }
}
