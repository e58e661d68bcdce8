//! What travels through the fleet, as values.
//!
//! Never: I/O, a clock, or a decision about what to do next.
