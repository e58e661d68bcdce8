//! `[runtime]`: calls to models.

use crate::config::{
    section::section,
    value::{Percent, Whole},
};

section! {
    /// Calls to models.
    RuntimeConfig in "runtime" {
        /// How many calls to models a worker process makes again, as a share of its calls of the
        /// last ten seconds: an outage is not to be multiplied by retries.
        retry_budget: Percent = "20%",
        /// So many more within ten seconds, so that a lone call has all its attempts.
        retry_reserve: Whole<0, 1_000_000> = "10",
    }
}
