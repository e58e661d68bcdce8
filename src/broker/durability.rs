//! How much of what a broker has accepted outlives it.

use std::{num::NonZeroU8, time::Duration};

use super::topology::Storage;

/// How much of what a broker has accepted outlives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durability {
    /// Where the streams are kept.
    pub storage: Storage,
    /// How many servers keep each.
    pub replicas: NonZeroU8,
    /// When a server writes through to its disk.
    pub sync: SyncInterval,
}

/// When a server writes through to its disk: `sync_interval`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncInterval {
    /// Before it says that a message is stored.
    Always,
    /// So often.
    Every(Duration),
    /// It will not tell: only the system account may ask, and who imports its service.
    Unknown,
}
