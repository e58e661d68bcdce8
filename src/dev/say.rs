//! Tells a person what is being done, a line a step.
//!
//! Owns no output: the terminal, a log or a test is behind the trait.

/// Takes one line for a person to read; no line end is in it.
///
/// Any closure over `&str` will do.
pub trait Say: Sync {
    /// Shows `line`.
    fn say(&self, line: &str);
}

impl<F: Fn(&str) + Sync> Say for F {
    fn say(&self, line: &str) {
        self(line);
    }
}
