//! The effective configuration.
