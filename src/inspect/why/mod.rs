//! Why a request is not finished: what is found of it, and that in words.

mod facts;
mod look;
mod words;

pub use self::{
    facts::{Ahead, Ending, Facts, Stands},
    look::Looking,
    words::{Reason, reasons},
};
