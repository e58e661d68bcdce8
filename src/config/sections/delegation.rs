//! `[delegation]`: how far requests may ask others.

use crate::config::{section::section, value::Whole};

section! {
    /// How far requests may ask others.
    DelegationConfig in "delegation" {
        /// How many requests a Puruto may make of others at once; more are refused.
        max_children: Whole<1, 10_000> = "32",
        /// How many requests there may be below a caller's, over all levels; more are refused. A
        /// `descendants` in the `[budget]` of a `worker.toml` can only lower it.
        max_descendants: Whole<0, 1_000_000> = "256",
    }
}
