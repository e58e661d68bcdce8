//! One resilient model call.
//!
//! Never: NATS or Redis; each part is usable alone.
