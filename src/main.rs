//! The `puruto` binary.

fn main() {}
