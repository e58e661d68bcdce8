//! Seam to hyper: the connections of whoever asks this process over HTTP.
//!
//! One server for every port: HTTP/1.1 and HTTP/2 over TCP or TLS, with a bound on how many
//! connections there are, on the head of each request, and on each wait for the other side.
//! Never: a route, what a body means, a count.

mod activity;
mod bounds;
mod connection;
mod requests;
mod server;
mod stall;
mod tls;
mod version;

pub use self::{
    bounds::Bounds,
    server::Server,
    tls::{Tls, TlsFault},
};
