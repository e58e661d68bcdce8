//! Names of everything that is logged, traced and counted, and where it goes.
//!
//! Never: a prompt, a key or a payload; no id as a metric label.

/// The values of the metrics' labels.
pub mod labels;
/// Every counter of this process.
pub mod metrics;
/// The one table of names.
pub mod names;
