//! How bytes get to a model server and back: permits, connections, one exchange, its body.
//!
//! In the order of a call: a permit of the pool, a kept connection or a fresh one, the request, the
//! body of the answer in chunks, the connection back to the pool. HTTP/1.1 only, and on purpose:
//! over HTTP/2 calls beyond the server's stream limit would queue where no permit, time-out or
//! metric sees them. Never: a retry, but for one free re-dial when a kept connection turns out dead
//! before any byte of an answer; a redirect followed; a key in anything but its endpoint's header.

mod body;
mod broken;
mod decode;
mod dial;
mod exchange;
mod idle;
mod keep_alive;
mod link;
mod pool;
mod pools;
mod proxy;
mod rules;
#[cfg(test)]
mod tests;
mod tls;

pub(super) use self::proxy::Proxies;
pub(in crate::runtime) use self::rules::Limits;
pub(super) use self::{
    body::Body, decode::ACCEPTED_ENCODING, dial::Route, exchange::exchange, pool::HostPool,
};
pub use self::{
    pool::Permit,
    pools::Pools,
    rules::{ConnectionLimit, PoolRules},
    tls::install as install_tls,
};
