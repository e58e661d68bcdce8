//! Which program is started, and what it sees of the environment, as values that cannot be wrong.

use serde::Deserialize;

/// What a program sees of the environment, unless told otherwise.
const ENV_DEFAULT: [&str; 2] = ["PATH", "HOME"];

/// A program and its arguments, as they are executed: no shell reads them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct Argv {
    program: String,
    arguments: Vec<String>,
}

/// A list that is no [`Argv`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a program and its arguments, none of them with a NUL, got {0}")]
pub struct InvalidArgv(&'static str);

impl Argv {
    /// The program: a name that is looked for on `PATH`, or a path from the Puruto's folder.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// What follows it.
    #[must_use]
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }
}

impl TryFrom<Vec<String>> for Argv {
    type Error = InvalidArgv;

    fn try_from(argv: Vec<String>) -> Result<Self, InvalidArgv> {
        if argv.iter().any(|it| it.contains('\0')) {
            return Err(InvalidArgv("a NUL"));
        }
        let mut argv = argv.into_iter();
        match argv.next() {
            None => Err(InvalidArgv("an empty list")),
            Some(program) if program.is_empty() => Err(InvalidArgv("a program without a name")),
            Some(program) => Ok(Self {
                program,
                arguments: argv.collect(),
            }),
        }
    }
}

/// The name of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct VariableName(Box<str>);

/// A text that is no [`VariableName`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the name of a variable: not empty, without `=` and NUL")]
pub struct InvalidVariableName;

impl VariableName {
    /// `PATH` and `HOME`, without which few programs run.
    #[must_use]
    pub fn defaults() -> Vec<Self> {
        ENV_DEFAULT.map(|name| Self(name.into())).into()
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for VariableName {
    type Error = InvalidVariableName;

    fn try_from(raw: String) -> Result<Self, InvalidVariableName> {
        if raw.is_empty() || raw.contains(['=', '\0']) {
            return Err(InvalidVariableName);
        }
        Ok(Self(raw.into()))
    }
}

/// The variables in `names` that are set, with what `lookup` has of them.
pub(in crate::handler) fn environment(
    names: &[VariableName],
    lookup: impl Fn(&str) -> Option<String>,
) -> Vec<(String, String)> {
    let named = names.iter().map(VariableName::as_str);
    let set = named.filter_map(|name| Some((name.to_owned(), lookup(name)?)));
    set.collect()
}
