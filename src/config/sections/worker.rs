//! `[worker]`: a worker process.

use std::{path::PathBuf, time::Duration};

use crate::{
    config::{
        address::Offered,
        section::section,
        value::{Whole, WorkerName},
    },
    contract::PurutoName,
};

section! {
    /// A worker process.
    WorkerConfig in "worker" {
        /// The folder of the fleet's Purutos, one folder each.
        workers_dir: PathBuf = "workers",
        /// Which of them this process serves; none named: all.
        targets: Vec<PurutoName> = "",
        /// What this process is called in logs, headers and connection names; made from host and
        /// process id when empty.
        id: Option<WorkerName> = "",
        /// How long a stopping process may finish what it runs before it hands the rest over.
        drain_timeout: Duration = "30s",
        /// How often a request may be run by workers that die with it; then it is answered as
        /// poisoned and kept as a dead letter.
        max_attempts: Whole<1, 1_000> = "5",
        /// How often the broker is told that a request is being worked on.
        progress_interval: Duration = "5s",
        /// Where `/metrics`, `/livez` and `/readyz` are served: `address:port` (port 0 takes a
        /// free one) or `off`.
        telemetry: Offered = "127.0.0.1:9464",
    }
}
