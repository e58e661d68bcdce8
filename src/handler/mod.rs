//! What runs under a claim.
//!
//! Never: broker or store; a handler has only the powers of its context.
