//! Names of everything that is logged, traced and counted, and where it goes.
//!
//! Never: a prompt, a key or a payload; no id as a metric label.
