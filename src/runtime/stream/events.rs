//! Server-sent events out of the bytes of a body, however they are cut into chunks.
//!
//! The bytes may be a whole JSON instead: a server that does not stream answers so, whatever it
//! was asked and whatever it calls it. Never: a look into the data.

use std::{mem, num::NonZeroUsize};

use sse_core::{SseDecoder, SseEvent};

use crate::runtime::Fault;

/// Longest data of one event, in bytes; a whole answer may come as one.
const EVENT_BYTES_MAX: NonZeroUsize = NonZeroUsize::new(1024 * 1024).expect("more than nothing");

/// What is read when the bytes are over.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::runtime) enum Last {
    /// Nothing.
    Nothing,
    /// One that the bytes did not complete; only the end of it may be missing, or more.
    Frame(Vec<u8>),
    /// Everything: it was no stream.
    Body(Vec<u8>),
}

/// Reads events.
pub(in crate::runtime) struct Events(Form);

enum Form {
    /// Nothing but blanks has come.
    Blank,
    Stream(Box<SseDecoder>),
    Whole(Vec<u8>),
}

impl Events {
    pub(in crate::runtime) const fn new() -> Self {
        Self(Form::Blank)
    }

    /// The data of the events that `chunk` completes. Fields other than data mean nothing here.
    ///
    /// # Errors
    /// [`Fault::BodyTooLarge`] for an event that is too long.
    pub(in crate::runtime) fn push(&mut self, chunk: &[u8]) -> Result<Vec<Vec<u8>>, Fault> {
        let chunk = match self.0 {
            Form::Blank => self.begun_by(chunk),
            Form::Stream(_) | Form::Whole(_) => chunk,
        };
        match &mut self.0 {
            Form::Blank => Ok(Vec::new()),
            Form::Stream(decoder) => decoded(decoder, chunk),
            Form::Whole(body) => {
                body.extend_from_slice(chunk);
                Ok(Vec::new())
            }
        }
    }

    /// Decides by the first byte that says something; what remains from there on.
    fn begun_by<'c>(&mut self, chunk: &'c [u8]) -> &'c [u8] {
        let blanks = chunk.iter().take_while(|byte| is_blank(**byte)).count();
        let chunk = chunk.get(blanks..).unwrap_or_default();
        match chunk.first() {
            None => {}
            // No field's name begins so.
            Some(b'{' | b'[' | b'<') => self.0 = Form::Whole(Vec::new()),
            Some(_) => {
                let decoder = SseDecoder::with_limit(EVENT_BYTES_MAX);
                self.0 = Form::Stream(Box::new(decoder));
            }
        }
        chunk
    }

    /// What the end of the bytes leaves.
    ///
    /// # Errors
    /// As [`Events::push`].
    pub(in crate::runtime) fn end(&mut self) -> Result<Last, Fault> {
        match mem::replace(&mut self.0, Form::Blank) {
            Form::Blank => Ok(Last::Nothing),
            Form::Whole(body) => Ok(Last::Body(body)),
            // A blank line completes what there is of an event.
            Form::Stream(mut decoder) => {
                let last = decoded(&mut decoder, b"\n\n")?.pop();
                Ok(last.map_or(Last::Nothing, Last::Frame))
            }
        }
    }
}

/// White space, or of a byte order mark.
const fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, 0xef | 0xbb | 0xbf)
}

fn decoded(decoder: &mut SseDecoder, mut bytes: &[u8]) -> Result<Vec<Vec<u8>>, Fault> {
    let mut all = Vec::new();
    while let Some(event) = decoder.next(&mut bytes) {
        match event {
            Ok(SseEvent::Message(message)) => all.push(message.data.into_bytes()),
            // We connect anew as the retry policy says.
            Ok(SseEvent::Retry(_)) => {}
            Err(_) => {
                let cap = EVENT_BYTES_MAX.get();
                return Err(Fault::BodyTooLarge { cap });
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All data, and what was left at the end.
    fn read<'c>(chunks: impl IntoIterator<Item = &'c [u8]>) -> (Vec<String>, Last) {
        let mut events = Events::new();
        let mut all = Vec::new();
        for chunk in chunks {
            for data in events.push(chunk).expect("short events") {
                all.push(String::from_utf8(data).expect("text"));
            }
        }
        (all, events.end().expect("short"))
    }

    fn of(text: &str) -> Vec<String> {
        let (events, last) = read([text.as_bytes()]);
        assert_eq!(last, Last::Nothing, "{text:?}");
        events
    }

    #[test]
    fn an_event_ends_at_a_blank_line_whatever_ends_the_lines() {
        for text in [
            "data: a\n\ndata: b\n\n",
            "data: a\r\n\r\ndata: b\r\n\r\n",
            "data: a\r\rdata: b\r\r",
            "\u{feff}data: a\n\ndata: b\n\n",
            "data:a\n\ndata:b\n\n",
            ": ping\n\ndata: a\nid: 7\nevent: message\nretry: 5\n\n: ping\n\ndata: b\n\n",
            "\n\ndata: a\n\n\n\ndata: b\n\n\n",
        ] {
            assert_eq!(of(text), ["a", "b"], "{text:?}");
        }
    }

    #[test]
    fn several_lines_of_data_are_one_text_with_line_ends() {
        assert_eq!(of("data: {\"a\":\ndata:  1}\n\n"), ["{\"a\":\n 1}"]);
        assert_eq!(of("data: [DONE]\n\n"), ["[DONE]"]);
    }

    #[test]
    fn the_last_event_may_lack_its_blank_line_or_its_rest() {
        for text in [
            "data: a\n\ndata: b",
            "data: a\n\ndata: b\n",
            "data: a\n\ndata: b\r",
        ] {
            let (events, last) = read([text.as_bytes()]);
            assert_eq!(
                (events, last),
                (vec!["a".to_owned()], Last::Frame(b"b".to_vec()))
            );
        }
        let (_, last) = read([&b"data: {\"half"[..]]);
        assert_eq!(last, Last::Frame(b"{\"half".to_vec()));
    }

    #[test]
    fn a_body_that_is_no_stream_is_kept_whole() {
        for body in [
            "{\"a\":\n\n1}",
            "\u{feff} \r\n{\"a\":1}\n\n",
            "<html>",
            "[1]",
        ] {
            let chunks = body.as_bytes().chunks(2);
            let (events, last) = read(chunks);
            assert!(events.is_empty(), "{body}");
            let Last::Body(kept) = last else {
                panic!("{body} is no stream: {last:?}");
            };
            let body = body.trim_start_matches(['\u{feff}', ' ', '\r', '\n']);
            assert_eq!(body.as_bytes(), kept);
        }
        assert_eq!(read([&b" \n"[..]]), (vec![], Last::Nothing));
    }

    #[test]
    fn an_event_longer_than_its_bound_is_a_fault() {
        let mut events = Events::new();
        let line = format!("data: {}\n", "x".repeat(EVENT_BYTES_MAX.get() / 2));
        assert_eq!(events.push(line.as_bytes()), Ok(vec![]));
        assert_eq!(events.push(line.as_bytes()).ok(), None);
    }

    proptest! {
        #[test]
        fn however_the_bytes_are_cut_the_events_are_the_same(
            pieces in prop::collection::vec(
                prop_oneof![
                    Just("data: "), Just("data:"), Just("\n"), Just("\r\n"), Just("\r"),
                    Just("\n\n"), Just(": ping"), Just("é𝄞"), Just("[DONE]"), Just("{\"a\":1}"),
                    Just("\u{feff}"), Just("event: x"), Just("id"), Just(" "),
                ],
                0..40,
            ),
            cuts in prop::collection::vec(1_usize..7, 1..40),
        ) {
            let bytes = pieces.concat().into_bytes();
            let whole = read([&bytes[..]]);
            let mut rest = &bytes[..];
            let mut cuts = cuts.iter().cycle();
            let chunks = std::iter::from_fn(|| {
                let (chunk, after) = rest.split_at(rest.len().min(*cuts.next()?));
                rest = after;
                (!chunk.is_empty()).then_some(chunk)
            });
            prop_assert_eq!(read(chunks), whole);
        }
    }
}
