//! What a caller uses: invoke, await the result, watch, follow, ask, cancel, decide, replay what is
//! dead.
//!
//! A caller sees subjects, results and records only. Its result finds it whether it subscribes
//! before, while or after it is published: what arrives on a subscription is taken at once, and
//! the stream is read before anything is given up.
//! Never: the pipeline, or a claim.

mod caller;
mod cancel;
mod chain;
mod executions;
mod fault;
mod following;
mod hearing;
mod invocation;
mod lazy;
mod letters;
mod nats;
mod pending;
mod port;
mod queue;
mod reading;
mod relay;
mod runs;
mod status;
mod submit;
mod verdict;
mod watch;

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod tests;

pub use self::{
    caller::{Client, Invoked, Patience, Settings},
    cancel::Cancelled,
    chain::{Node, Tree},
    fault::ClientFault,
    following::Following,
    hearing::{Heard, Hearing},
    invocation::{Invocation, Prepared},
    lazy::LazyRecords,
    letters::{Demand, FoundLetters, LetterFilter, Refusal, Replay},
    pending::Pending,
    port::{Arrival, Arrivals, Exchange, Happenings, Letters, Queue},
    queue::{Queued, Sought},
    relay::Relayed,
    runs::Begun,
    status::{Standing, Status},
    submit::Submitted,
    watch::Watch,
};
