//! How a connection fails.

use std::fmt;

/// What about the connection went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionFault {
    /// Nobody listens there.
    Refused,
    /// The peer closed it in the middle.
    Reset,
    /// The host name has no address, or the resolver did not say.
    Dns,
    /// The TLS handshake failed.
    Tls,
    /// The server's certificate is not to be trusted; it will not be next time either.
    Certificate,
    /// The body ended before it was complete.
    Cut,
    /// Anything else.
    Other,
}

impl fmt::Display for ConnectionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::Dns => "host name not resolved",
            Self::Tls => "tls handshake failed",
            Self::Certificate => "certificate not trusted",
            Self::Cut => "body cut short",
            Self::Other => "broken",
        })
    }
}
