//! `[runtime]`: calls to models.

use crate::config::{
    section::section,
    value::{Percent, Whole},
};

section! {
    /// Calls to models.
    RuntimeConfig in "runtime" {
        /// Whether the workers of a fleet share what they learn of their model servers, over Redis:
        /// which of them fail, how long they want to be left alone, how much of their limits is
        /// left. Without it, and while Redis is away, each worker goes by what it knows itself.
        share_circuits: bool = "true",
        /// How many calls to models a worker process makes again, as a share of its calls of the
        /// last ten seconds: an outage is not to be multiplied by retries.
        retry_budget: Percent = "20%",
        /// So many more within ten seconds, so that a lone call has all its attempts.
        retry_reserve: Whole<0, 1_000_000> = "10",
    }
}
