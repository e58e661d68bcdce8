//! What only a real server shows: how its data looks, and what becomes of calls when it fails.

mod beside;
mod circuits;
mod data;
mod failures;
mod heartbeat;
