//! The table `[command]` of a `worker.toml`, as values that cannot be wrong.

use std::num::NonZeroUsize;

use serde::Deserialize;

/// Most bytes that a program may be allowed to write.
const OUTPUT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Most bytes that a program may write, unless told otherwise: 1 MiB.
const OUTPUT_BYTES_DEFAULT: NonZeroUsize = NonZeroUsize::new(1024 * 1024).expect("1 MiB is not 0");
/// What a program sees of the environment, unless told otherwise.
const ENV_DEFAULT: [&str; 2] = ["PATH", "HOME"];

/// Which program runs for a request, and what it is given.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandConfig {
    /// The program and its arguments.
    pub argv: Argv,
    /// The variables of the worker's environment that it sees.
    #[serde(default = "env_default")]
    pub env: Vec<VariableName>,
    /// How much it may write.
    #[serde(default)]
    pub output_max: OutputMax,
}

fn env_default() -> Vec<VariableName> {
    ENV_DEFAULT.map(|name| VariableName(name.into())).into()
}

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

/// How many bytes a program may write to its standard output: 1 to 64 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "usize")]
pub struct OutputMax(NonZeroUsize);

/// A number that is no [`OutputMax`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a number of bytes from 1 to {OUTPUT_BYTES_MAX}, got {0}")]
pub struct InvalidOutputMax(usize);

impl OutputMax {
    /// The number of bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.0.get()
    }
}

impl Default for OutputMax {
    fn default() -> Self {
        Self(OUTPUT_BYTES_DEFAULT)
    }
}

impl TryFrom<usize> for OutputMax {
    type Error = InvalidOutputMax;

    fn try_from(bytes: usize) -> Result<Self, InvalidOutputMax> {
        NonZeroUsize::new(bytes)
            .filter(|it| it.get() <= OUTPUT_BYTES_MAX)
            .map(Self)
            .ok_or(InvalidOutputMax(bytes))
    }
}
