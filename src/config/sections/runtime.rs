//! `[runtime]`: calls to models.

use std::time::Duration;

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
        /// How many calls at once a worker process makes to all servers of one provider, each over
        /// a connection of its own; others wait their turn.
        connections: Whole<1, 20_000> = "100",
        /// How many of them to one host.
        connections_per_host: Whole<1, 20_000> = "50",
        /// How long a call waits for its turn before it counts as an attempt that failed.
        acquire_timeout: Duration = "30s",
        /// How long to wait for a connection to a model server, TLS included.
        connect_timeout: Duration = "30s",
        /// How long a connection is kept that nobody uses; a server may keep it shorter.
        idle_timeout: Duration = "60s",
    }
}
