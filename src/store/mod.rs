//! The seam to the lease store.
//!
//! Never: policy. A port runs one script and reports what it answered.
