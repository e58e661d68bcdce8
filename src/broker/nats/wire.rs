//! Headers and messages as the client library has them.
//!
//! Never: a conversion that can panic. The library's own panics on a header value with a line
//! break in it, so names and values are parsed.

use async_nats::{HeaderMap, HeaderName, HeaderValue, Message};
use bytes::Bytes;

use super::super::{Headers, StoredResult};

/// A body up to this long is copied: a slice of it would keep a whole read buffer alive.
const COPIED_BYTES_MAX: usize = 8 * 1024;

/// Headers that a server adds when it reads a message from a stream.
const READ_HEADERS: [&str; 6] = [
    "Nats-Stream",
    "Nats-Subject",
    "Nats-Sequence",
    "Nats-Time-Stamp",
    "Nats-Num-Pending",
    "Nats-Last-Sequence",
];

/// Headers for the wire. What cannot stand in a header line is left out.
pub(super) fn to_wire<'h>(headers: impl Iterator<Item = (&'h str, &'h str)>) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse::<HeaderValue>()) {
            map.append(name, value);
        }
    }
    map
}

/// Headers from the wire.
pub(super) fn from_wire(map: Option<&HeaderMap>) -> Headers {
    let mut headers = Headers::new();
    for (name, values) in map.into_iter().flat_map(HeaderMap::iter) {
        for value in values {
            headers.push_named(name.as_ref(), value.as_str());
        }
    }
    headers
}

/// The value of a header that a server sets.
pub(super) fn header<'m>(message: &'m Message, name: &'static str) -> Option<&'m str> {
    let headers = message.headers.as_ref()?;
    Some(headers.get(HeaderName::from_static(name))?.as_str())
}

/// A body that keeps no more memory alive than it has to.
pub(super) fn own(body: Bytes) -> Bytes {
    if body.len() <= COPIED_BYTES_MAX {
        Bytes::copy_from_slice(&body)
    } else {
        body
    }
}

/// A result as it was published.
pub(super) fn stored_result(message: &Message) -> StoredResult {
    let mut headers = Headers::new();
    for (name, value) in from_wire(message.headers.as_ref()).iter() {
        if !READ_HEADERS.contains(&name) {
            headers.push_named(name, value);
        }
    }
    StoredResult {
        headers,
        body: own(message.payload.clone()),
    }
}

/// What headers take on the wire: `NATS/1.0`, a line each, and an empty line.
pub(super) fn header_bytes(map: &HeaderMap) -> usize {
    let line = |name: &HeaderName, value: &HeaderValue| {
        let name: &str = name.as_ref();
        name.len() + value.as_str().len() + ": \r\n".len()
    };
    let lines = map
        .iter()
        .flat_map(|(name, values)| values.iter().map(move |value| line(name, value)));
    lines.sum::<usize>() + "NATS/1.0\r\n\r\n".len()
}
