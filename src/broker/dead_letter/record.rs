//! A dead letter as a message: the body as it came, and everything else in headers.
//!
//! The message's own headers stay as they are, so that a person sees them and a replay has them;
//! only those that would command the broker, or pass for the record's own, stand behind a prefix.

use std::{fmt, num::NonZeroU32, str::FromStr};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;

use super::{BuriedLetter, DeadLetter, DeadReason, Missing, NoDeadLetter};
use crate::{
    broker::{HeaderFault, Headers, StoredMessage, UnreadableHeaders},
    clock::WallTime,
    contract::Header,
    store::Attempt,
};

/// Every header of the record's own begins so.
const OWN: &str = "Puruto-Dead-";

const REASON: &str = "Puruto-Dead-Reason";
const DETAIL: &str = "Puruto-Dead-Detail";
const TARGET: &str = "Puruto-Dead-Target";
const ATTEMPTS: &str = "Puruto-Dead-Attempts";
const WORKER: &str = "Puruto-Dead-Worker";
const REQUEST: &str = "Puruto-Dead-Request";
const CORRELATION: &str = "Puruto-Dead-Correlation";
const SEQUENCE: &str = "Puruto-Dead-Sequence";
const SUBJECT: &str = "Puruto-Dead-Subject";
const STORED: &str = "Puruto-Dead-Stored";
const MISSING: &str = "Puruto-Dead-Missing";
const HEADERS_FAULT: &str = "Puruto-Dead-Headers-Fault";
const RAW_HEADERS: &str = "Puruto-Dead-Headers";

/// Before the name of a header of the message that cannot stand as it is.
const ORIGINAL: &str = "Puruto-Dead-Original-";

/// Longest words about the reason, in characters; and longest name of a worker.
const WORDS_MAX: usize = 512;

/// Kept free for saying that something is missing.
const MISSING_BYTES: usize = MISSING.len() + LINE_BYTES + "headers".len();

/// What a header line takes beside name and value, and the block beside its lines.
const LINE_BYTES: usize = ": \r\n".len();
const BLOCK_BYTES: usize = "NATS/1.0\r\n\r\n".len();

impl DeadLetter {
    /// The letter as a message of at most `limit` bytes, headers included. What is left out, if
    /// anything, are the message's headers first, then the end of its body.
    pub(in crate::broker) fn to_record(&self, stream: &str, limit: usize) -> (Headers, Bytes) {
        let mut headers = self.own_headers(stream);
        let used = BLOCK_BYTES + MISSING_BYTES + bytes_of(&headers);
        let room = limit.saturating_sub(used);
        let body = &self.message.body;
        let missing = match room.checked_sub(body.len()) {
            Some(room) => self.push_message_headers(&mut headers, room),
            None => Missing::Body,
        };
        if missing != Missing::Nothing {
            headers.push_named(MISSING, missing.as_str());
        }
        (headers, body.slice(..body.len().min(room)))
    }

    fn own_headers(&self, stream: &str) -> Headers {
        let mut headers = Headers::new();
        let mut put = |name, value: &dyn fmt::Display| headers.push_named(name, &value.to_string());
        let message = &self.message;
        put(Header::MessageId.as_str(), &message.identity(stream));
        put(REASON, &self.reason.as_str());
        put(DETAIL, &excerpt(&self.detail));
        put(ATTEMPTS, &self.attempts.map_or(0, Attempt::number));
        put(SEQUENCE, &message.sequence);
        put(SUBJECT, &message.subject);
        put(STORED, &message.stored_at);
        if let Some(target) = &self.target {
            put(TARGET, target);
        }
        if let Some(worker) = &self.last_worker {
            put(WORKER, &excerpt(worker));
        }
        if let Some(request) = &self.request {
            put(REQUEST, request);
        }
        if let Some(correlation) = &self.correlation {
            put(CORRELATION, correlation);
        }
        if let Err(unreadable) = &message.headers {
            put(HEADERS_FAULT, &unreadable.fault.as_str());
        }
        headers
    }

    /// Adds as much of the message's headers as there is room for.
    fn push_message_headers(&self, headers: &mut Headers, room: usize) -> Missing {
        match &self.message.headers {
            Ok(readable) => push_readable(headers, readable, room),
            Err(unreadable) => push_raw(headers, &unreadable.raw, room),
        }
    }
}

fn push_readable(headers: &mut Headers, readable: &Headers, mut room: usize) -> Missing {
    for (name, value) in readable.iter() {
        let name = kept_name(name);
        match room.checked_sub(line_bytes(&name, value)) {
            Some(left) => room = left,
            None => return Missing::Headers,
        }
        headers.push_named(&name, value);
    }
    Missing::Nothing
}

/// Three bytes are four in base64.
fn push_raw(headers: &mut Headers, raw: &[u8], room: usize) -> Missing {
    let room = room.saturating_sub(line_bytes(RAW_HEADERS, "")) / 4 * 3;
    let kept = raw.get(..room.min(raw.len())).unwrap_or_default();
    headers.push_named(RAW_HEADERS, &STANDARD.encode(kept));
    if kept.len() < raw.len() {
        Missing::Headers
    } else {
        Missing::Nothing
    }
}

fn kept_name(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    if lower.starts_with("nats-") || lower.starts_with(&OWN.to_ascii_lowercase()) {
        format!("{ORIGINAL}{name}")
    } else {
        name.to_owned()
    }
}

/// The name that a header of the message had; `None` for one of the record's own.
fn original_name(kept: &str) -> Option<&str> {
    match kept.strip_prefix(ORIGINAL) {
        Some(original) => Some(original),
        None => (kept_name(kept) == kept).then_some(kept),
    }
}

fn line_bytes(name: &str, value: &str) -> usize {
    name.len() + value.len() + LINE_BYTES
}

fn bytes_of(headers: &Headers) -> usize {
    headers
        .iter()
        .map(|(name, value)| line_bytes(name, value))
        .sum()
}

fn excerpt(words: &str) -> String {
    words.chars().take(WORDS_MAX).collect()
}

impl BuriedLetter {
    /// Reads a message of the stream of dead letters.
    ///
    /// # Errors
    /// It is none, or one of a newer fleet: what is missing or not understood.
    pub fn read(stored: StoredMessage) -> Result<Self, NoDeadLetter> {
        let sequence = stored.sequence;
        let letter = stored
            .headers
            .as_ref()
            .map_err(|unreadable| unreadable.fault.to_string())
            .and_then(|headers| letter(headers, stored.body.clone()));
        let (letter, missing) = letter.map_err(|why| NoDeadLetter { sequence, why })?;
        Ok(Self {
            sequence,
            buried_at: stored.stored_at,
            letter,
            missing,
        })
    }
}

fn letter(headers: &Headers, body: Bytes) -> Result<(DeadLetter, Missing), String> {
    let missing = headers
        .get_named(MISSING)
        .map_or(Some(Missing::Nothing), Missing::named);
    let reason = DeadReason::ALL.into_iter();
    let letter = DeadLetter {
        reason: needed(headers, REASON, |text| {
            reason.clone().find(|reason| reason.as_str() == text)
        })?,
        detail: headers.get_named(DETAIL).unwrap_or_default().into(),
        target: optional(headers, TARGET)?,
        attempts: optional::<u32>(headers, ATTEMPTS)?
            .and_then(NonZeroU32::new)
            .map(|number| Attempt::new(number.get())),
        last_worker: headers.get_named(WORKER).map(Into::into),
        request: optional(headers, REQUEST)?,
        correlation: optional(headers, CORRELATION)?,
        message: StoredMessage {
            sequence: needed(headers, SEQUENCE, |text| text.parse().ok())?,
            subject: needed(headers, SUBJECT, |text| Some(text.into()))?,
            stored_at: needed(headers, STORED, WallTime::parse_rfc3339)?,
            headers: message_headers(headers)?,
            body,
        },
    };
    Ok((letter, missing.ok_or_else(|| not_understood(MISSING))?))
}

fn message_headers(headers: &Headers) -> Result<Result<Headers, UnreadableHeaders>, String> {
    if headers.get_named(HEADERS_FAULT).is_some() {
        let fault = needed(headers, HEADERS_FAULT, |text| {
            let mut faults = HeaderFault::ALL.into_iter();
            faults.find(|fault| fault.as_str() == text)
        })?;
        let raw = headers.get_named(RAW_HEADERS).unwrap_or_default();
        let raw = STANDARD
            .decode(raw)
            .map_err(|_| not_understood(RAW_HEADERS))?;
        let raw = raw.into();
        return Ok(Err(UnreadableHeaders { fault, raw }));
    }
    let mut original = Headers::new();
    for (kept, value) in headers.iter() {
        if let Some(name) = original_name(kept) {
            original.push_named(name, value);
        }
    }
    Ok(Ok(original))
}

fn needed<T>(
    headers: &Headers,
    name: &'static str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T, String> {
    let value = headers.get_named(name);
    let value = value.ok_or_else(|| format!("it has no {name}"))?;
    read(value).ok_or_else(|| not_understood(name))
}

fn optional<T: FromStr>(headers: &Headers, name: &'static str) -> Result<Option<T>, String> {
    let parse = |text: &str| text.parse().map_err(|_| not_understood(name));
    headers.get_named(name).map(parse).transpose()
}

fn not_understood(name: &str) -> String {
    format!("its {name} is not understood")
}

impl Missing {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Headers => "headers",
            Self::Body => "body",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Nothing, Self::Headers, Self::Body]
            .into_iter()
            .find(|missing| missing.as_str() == name)
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
