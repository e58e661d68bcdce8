//! `[log]`: what is logged.

use crate::{
    config::{section::section, value::LogStyle},
    telemetry::logs::LogFilter,
};

section! {
    /// What is logged.
    LogConfig in "log" {
        /// `json`, `plain` (text), `pretty` (text in colour), or `auto`: pretty on a terminal,
        /// else json.
        format: LogStyle = "auto",
        /// Which events: a level, or `level,target=level`.
        filter: LogFilter = "info",
    }
}
