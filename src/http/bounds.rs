//! What one server takes from its clients, as data.

use std::time::Duration;

/// The bounds of a server's connections.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Connections at a time; more wait in the system's queue.
    pub connections: usize,
    /// Requests under way at a time on one HTTP/2 connection.
    pub streams: u32,
    /// Headers of one request; with more it is answered 431.
    pub headers: usize,
    /// Bytes of a request's head; a longer one is answered 431. At least the 8 KiB with which hyper
    /// begins whatever this is; a connection holds more only for a head that is longer.
    pub head_bytes: usize,
    /// How long a handshake, the head of a request, or the next request on a connection that is
    /// kept alive may take to arrive.
    pub head_within: Duration,
    /// How long a client may take nothing of what it is sent.
    pub taken_within: Duration,
    /// How long an answer under way may take once the server stops; what takes longer is cut.
    pub drain_within: Duration,
}
