//! What the reply subject of a delivery says about it.
//!
//! Never: a wait or a wire. Both forms are read: `$JS.ACK.<stream>.<consumer>.<delivered>.<stream
//! sequence>.<consumer sequence>.<nanoseconds>.<pending>`, and the newer one with domain and
//! account hash before the stream and perhaps a random token at the end.

use std::fmt;

use crate::clock::WallTime;

/// A delivery as its ack subject describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AckSubject<'s> {
    /// The stream in which the message stands.
    pub(super) stream: &'s str,
    /// The consumer that delivered it.
    pub(super) consumer: &'s str,
    /// How often it has been delivered, from 1.
    pub(super) delivered: u64,
    /// Its sequence in the stream.
    pub(super) sequence: u64,
    /// The consumer's count of its deliveries up to this one.
    pub(super) consumer_sequence: u64,
    /// When it was stored.
    pub(super) stored_at: WallTime,
    /// How many messages the consumer had not delivered yet.
    pub(super) pending: u64,
}

impl<'s> AckSubject<'s> {
    /// Reads an ack subject; `None` when it is none.
    pub(super) fn parse(subject: &'s str) -> Option<Self> {
        let rest = subject.strip_prefix("$JS.ACK.")?;
        let short = rest.bytes().filter(|&byte| byte == b'.').count() == SHORT_DOTS;
        let mut tokens = rest.split('.').skip(if short { 0 } else { ROUTE_TOKENS });
        let parsed = Self {
            stream: tokens.next()?,
            consumer: tokens.next()?,
            delivered: number(tokens.next())?,
            sequence: number(tokens.next())?,
            consumer_sequence: number(tokens.next())?,
            stored_at: number(tokens.next())
                .map(|nanos| WallTime::from_unix_millis(nanos / NANOS_A_MILLI))?,
            pending: number(tokens.next())?,
        };
        Some(parsed)
    }
}

/// The older form, which every server takes.
impl fmt::Display for AckSubject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            stream,
            consumer,
            delivered,
            sequence,
            consumer_sequence,
            stored_at,
            pending,
        } = self;
        let nanos = stored_at.unix_millis().saturating_mul(NANOS_A_MILLI);
        write!(
            f,
            "$JS.ACK.{stream}.{consumer}.{delivered}.{sequence}.{consumer_sequence}.{nanos}.{pending}"
        )
    }
}

const NANOS_A_MILLI: u64 = 1_000_000;

/// Dots behind `$JS.ACK.` in the form without domain and account hash.
const SHORT_DOTS: usize = 6;

/// Domain and account hash.
const ROUTE_TOKENS: usize = 2;

fn number(token: Option<&str>) -> Option<u64> {
    token?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(stream: &str) -> AckSubject<'_> {
        AckSubject {
            stream,
            consumer: "puruto-echo",
            delivered: 3,
            sequence: 100,
            consumer_sequence: 7,
            stored_at: WallTime::from_unix_millis(1_700_000_000_123),
            pending: 42,
        }
    }

    #[test]
    fn both_forms_are_read() {
        let tail = "PURUTO_INVOKE.puruto-echo.3.100.7.1700000000123456789.42";
        for route in ["", "_.szMpdrwD.", "hub.szMpdrwD."] {
            let subject = format!("$JS.ACK.{route}{tail}");
            assert_eq!(
                AckSubject::parse(&subject),
                Some(expected("PURUTO_INVOKE")),
                "{subject}"
            );
        }
        let with_token = format!("$JS.ACK._.szMpdrwD.{tail}.rand");
        assert_eq!(
            AckSubject::parse(&with_token),
            Some(expected("PURUTO_INVOKE"))
        );
    }

    #[test]
    fn what_is_written_is_read() {
        let written = expected("PURUTO_INVOKE").to_string();
        assert_eq!(AckSubject::parse(&written), Some(expected("PURUTO_INVOKE")));
    }

    #[test]
    fn anything_else_is_none() {
        for bad in [
            "",
            "_INBOX.a.1",
            "$JS.ACK.",
            "$JS.ACK.S.c.1.2.3.4",
            "$JS.ACK.S.c.x.2.3.4.5",
            "$JS.ACK.S.c.1.2.3.4.-5",
        ] {
            assert_eq!(AckSubject::parse(bad), None, "{bad:?}");
        }
    }
}
