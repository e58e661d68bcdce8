//! `[events]`: what is told of requests while they are worked on.

use crate::config::{section::section, value::EventsOf};

section! {
    /// What is told of requests while they are worked on.
    EventsConfig in "events" {
        /// Of which requests: `all`, `none`, or `delegations` for those that were delegated, ask
        /// others or wait for an approval, and those of agents.
        of: EventsOf = "delegations",
    }
}
