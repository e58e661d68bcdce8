//! Which faults of a route the next one may not share.
//!
//! Pure. A fault that a person must see, or that the question itself brings about, ends the call:
//! another model would hide the first, and repeat the second at its own price.

use crate::runtime::{Fault, fault::ConnectionFault};

/// Whether another route is asked after a call to one ended in `fault`.
pub(super) const fn passes_on(fault: &Fault) -> bool {
    match fault {
        // A wrong certificate stays wrong until somebody looks, and may be an attack.
        Fault::Connection {
            what: ConnectionFault::Certificate,
            ..
        } => false,
        // The server is not well, or not to be reached from here.
        Fault::Connection { .. }
        | Fault::Timeout { .. }
        | Fault::Server(_)
        | Fault::Overloaded(_)
        | Fault::Incomplete { .. }
        // It is being spared: it was not well a moment ago.
        | Fault::CircuitOpen { .. }
        // Its retries ran out before the request was handed over.
        | Fault::CallsSpent { .. }
        // Limits are those of an account; another has its own.
        | Fault::RateLimited(_)
        | Fault::TokenLimited(_)
        | Fault::QuotaExhausted(_)
        | Fault::Throttled { .. } => true,
        // Nobody waits any more.
        Fault::DeadlinePassed
        // A key is to be replaced; while another model answers nobody would.
        | Fault::Auth(_)
        // The question is refused for what it is.
        | Fault::Rejected(_)
        // There is an answer, and it is the caller's to hear what is wrong with it.
        | Fault::Contract(_)
        | Fault::Unfit(_)
        | Fault::BodyTooLarge { .. } => false,
    }
}
