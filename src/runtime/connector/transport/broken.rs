//! What is wrong with a connection, by the errors of the libraries that tell of it.
//!
//! Never: an address in the words that are kept; it may hold what the operator wants out of logs.

use std::{error::Error, io};

use super::dial::Unresolved;
use crate::runtime::{Fault, fault::ConnectionFault};

type Cause = dyn Error + 'static;

/// The fault of a connection that broke before it was of use.
pub(super) fn broken(error: &Cause) -> Fault {
    connection(what(error), error)
}

/// The fault of a body that ended before it was complete.
pub(super) fn cut(error: &Cause) -> Fault {
    connection(ConnectionFault::Cut, error)
}

/// Whether the operating system gave up waiting for the other side.
pub(super) fn timed_out(error: &Cause) -> bool {
    cause::<io::Error>(error).is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
}

fn what(error: &Cause) -> ConnectionFault {
    if cause::<Unresolved>(error).is_some() {
        return ConnectionFault::Dns;
    }
    if let Some(tls) = cause::<rustls::Error>(error) {
        return match tls {
            rustls::Error::InvalidCertificate(_) => ConnectionFault::Certificate,
            _ => ConnectionFault::Tls,
        };
    }
    if cause::<hyper::Error>(error)
        .is_some_and(|error| error.is_incomplete_message() || error.is_canceled())
    {
        return ConnectionFault::Reset;
    }
    match cause::<io::Error>(error).map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => ConnectionFault::Refused,
        Some(
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof,
        ) => ConnectionFault::Reset,
        _ => ConnectionFault::Other,
    }
}

/// The innermost cause says most.
fn connection(what: ConnectionFault, error: &Cause) -> Fault {
    let detail = causes(error).last().map(ToString::to_string);
    let detail = detail.unwrap_or_default().into();
    Fault::Connection { what, detail }
}

/// `error` and what caused it, the innermost last.
fn causes<'e>(error: &'e Cause) -> impl Iterator<Item = &'e Cause> {
    std::iter::successors(Some(error), |&cause: &&'e Cause| {
        // An io::Error hides what it was made of, such as a TLS error, from `source`.
        match cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            Some(inside) => Some(inside as &Cause),
            None => cause.source(),
        }
    })
}

fn cause<T: Error + 'static>(error: &Cause) -> Option<&T> {
    causes(error).find_map(|cause| cause.downcast_ref())
}
