//! The table `[command]` of a `worker.toml`, as values that cannot be wrong.

use std::num::NonZeroUsize;

use serde::Deserialize;

use crate::handler::program::{Argv, VariableName};

/// Most bytes that a program may be allowed to write.
const OUTPUT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Most bytes that a program may write, unless told otherwise: 1 MiB.
const OUTPUT_BYTES_DEFAULT: NonZeroUsize = NonZeroUsize::new(1024 * 1024).expect("1 MiB is not 0");

/// Which program runs for a request, and what it is given.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandConfig {
    /// The program and its arguments.
    pub argv: Argv,
    /// The variables of the worker's environment that it sees.
    #[serde(default = "VariableName::defaults")]
    pub env: Vec<VariableName>,
    /// How much it may write.
    #[serde(default)]
    pub output_max: OutputMax,
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
