//! Who may ask whom for what.
//!
//! Never: I/O on the path of a request; a policy is in memory when it is asked.
