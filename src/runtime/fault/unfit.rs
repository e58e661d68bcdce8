//! An answer that is one, and has another form than was asked for.
//!
//! Kept whole, so that the model can be shown what it said. Never: printed.

use crate::{contract::Violation, runtime::ModelAnswer};

/// An answer and what is wrong with its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// What is wrong; never empty.
    pub violations: Vec<Violation>,
    /// What the model answered; `{:?}` shows none of its words.
    pub answer: ModelAnswer,
}
