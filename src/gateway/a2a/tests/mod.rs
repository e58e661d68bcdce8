//! What is read of callers, who can be asked, and how a task is told in either version. No fleet.

mod asked;
mod reading;
mod telling;
