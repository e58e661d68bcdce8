//! A message's header block, told apart into what a client library can read and what breaks it.
//!
//! Anyone can store any bytes as headers. The client library ends its connection over some of
//! them and panics over others, so this reads exactly what it would survive.

use super::Headers;

/// The first line of every header block.
const VERSION: &str = "NATS/1.0";

/// What is wrong with a header block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    /// Bytes that are no UTF-8.
    #[error("the headers are not UTF-8")]
    NotUtf8,
    /// The first line is not the version.
    #[error("the headers do not begin with {VERSION}")]
    Version,
    /// The first line holds a status: a reader would take the message for the broker's own.
    #[error("the headers hold a status, as only the broker's own messages do")]
    Status,
    /// A line without a colon.
    #[error("a header line has no colon")]
    NoColon,
    /// A name with a character that names cannot have.
    #[error("a header name has an invalid character")]
    Name,
    /// A carriage return inside of a value.
    #[error("a header value holds a carriage return")]
    LineBreak,
}

impl HeaderFault {
    /// Every fault.
    pub const ALL: [Self; 6] = [
        Self::NotUtf8,
        Self::Version,
        Self::Status,
        Self::NoColon,
        Self::Name,
        Self::LineBreak,
    ];

    /// A stable name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotUtf8 => "not_utf8",
            Self::Version => "version",
            Self::Status => "status",
            Self::NoColon => "no_colon",
            Self::Name => "name",
            Self::LineBreak => "line_break",
        }
    }
}

/// Reads a header block; an empty one has no headers.
///
/// # Errors
/// What in it no client library should be handed.
pub(super) fn parse(raw: &[u8]) -> Result<Headers, HeaderFault> {
    let mut headers = Headers::new();
    if raw.is_empty() {
        return Ok(headers);
    }
    let text = std::str::from_utf8(raw).map_err(|_| HeaderFault::NotUtf8)?;
    let mut lines = text.lines().peekable();
    let version = lines.next().unwrap_or_default();
    let status = version.strip_prefix(VERSION).ok_or(HeaderFault::Version)?;
    if !status.trim().is_empty() {
        return Err(HeaderFault::Status);
    }
    while let Some(line) = lines.next() {
        if line.is_empty() {
            continue;
        }
        let (name, first) = line.split_once(':').ok_or(HeaderFault::NoColon)?;
        if !name.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(HeaderFault::Name);
        }
        let mut value = first.trim_start().to_owned();
        while let Some(more) = lines.next_if(|line| line.starts_with(char::is_whitespace)) {
            value.push_str(more);
        }
        let value = value.trim_end();
        if value.contains('\r') {
            return Err(HeaderFault::LineBreak);
        }
        headers.push_named(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_survives_is_read() {
        let raw = b"NATS/1.0\r\nA: one\r\nB:two\r\n three\r\nA: four \r\n\r\n";
        let headers = parse(raw).unwrap();
        let all: Vec<_> = headers.iter().collect();
        assert_eq!(all, [("A", "one"), ("B", "two three"), ("A", "four")]);
        assert_eq!(parse(b""), Ok(Headers::new()));
        assert_eq!(parse(b"NATS/1.0\r\n\r\n"), Ok(Headers::new()));
        assert!(parse(b"NATS/1.0\nA: b\r\r\n\r\n").is_ok());
    }

    #[test]
    fn what_breaks_a_client_is_told_by_its_kind() {
        let kinds: [(&[u8], HeaderFault); 9] = [
            (b"NATS/1.0\r\nX: a\rb\r\n\r\n", HeaderFault::LineBreak),
            (b"NATS/1.0\r\nX: a\r\n \rb\r\n\r\n", HeaderFault::LineBreak),
            (b"NATS/1.0\r\nX: \xff\r\n\r\n", HeaderFault::NotUtf8),
            (b"NATS/1.0\r\nno colon\r\n\r\n", HeaderFault::NoColon),
            (b"NATS/1.0\r\na b: c\r\n\r\n", HeaderFault::Name),
            (b"NATS/1.0\r\na\rb: c\r\n\r\n", HeaderFault::Name),
            (b"NATS/2.0\r\nA: b\r\n\r\n", HeaderFault::Version),
            (b"\r\n", HeaderFault::Version),
            (
                b"NATS/1.0 409 Consumer Deleted\r\n\r\n",
                HeaderFault::Status,
            ),
        ];
        for (raw, fault) in kinds {
            assert_eq!(parse(raw), Err(fault), "{}", raw.escape_ascii());
        }
    }
}
