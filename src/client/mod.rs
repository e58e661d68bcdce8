//! What a caller uses.
//!
//! Never: the pipeline; a caller sees subjects and results only.
