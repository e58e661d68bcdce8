//! The supervisor, on a paused clock, over the twins.

mod deaths;
mod unserved;
mod world;
