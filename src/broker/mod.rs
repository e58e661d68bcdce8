//! The seam to the broker.
//!
//! Never: policy. A port moves bytes and reports faults.
