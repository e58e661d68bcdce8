//! The supervisor, on a paused clock, over the twins.

mod crowded;
mod deaths;
mod lanes;
mod unserved;
mod waits;
mod world;
