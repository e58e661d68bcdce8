//! One worker process.
