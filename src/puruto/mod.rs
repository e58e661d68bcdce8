//! The fleet's Purutos, read from their folders.
