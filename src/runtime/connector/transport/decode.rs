//! Undoes the one compression that is asked for.
//!
//! Never: more room than is left for the body, however small the compressed bytes are.

use std::{
    fmt,
    io::{self, Write},
    mem,
};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use hyper::{HeaderMap, header::CONTENT_ENCODING};

/// What the request accepts.
pub(in crate::runtime::connector) const ACCEPTED_ENCODING: &str = "gzip";

/// How a body is written down. What is neither plain nor gzip was not asked for; it is handed on as
/// it comes, and whoever reads it finds no answer in it.
pub(super) enum Decoder {
    Plain,
    Gzip(Box<MultiGzDecoder<Sink>>),
}

/// Why bytes could not be decoded.
#[derive(Debug)]
pub(super) enum Undecoded {
    /// They are more than there is room for.
    TooLarge,
    /// They are no gzip, or not all of it.
    Broken(io::Error),
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "Plain",
            Self::Gzip(_) => "Gzip",
        })
    }
}

impl Decoder {
    /// The decoder that `headers` ask for.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let encoding = headers.get(CONTENT_ENCODING).map(|value| value.as_bytes());
        match encoding.map(<[u8]>::trim_ascii) {
            Some(gzip)
                if gzip.eq_ignore_ascii_case(b"gzip") || gzip.eq_ignore_ascii_case(b"x-gzip") =>
            {
                Self::Gzip(Box::new(MultiGzDecoder::new(Sink::default())))
            }
            Some(_) | None => Self::Plain,
        }
    }

    /// What `raw` decodes to as far as can be told by now; nothing if that takes more bytes than
    /// `room`.
    pub(super) fn decode(&mut self, raw: Bytes, room: usize) -> Result<Bytes, Undecoded> {
        match self {
            Self::Plain if raw.len() > room => Err(Undecoded::TooLarge),
            Self::Plain => Ok(raw),
            Self::Gzip(gzip) => {
                gzip.get_mut().room = room;
                // What was decoded is wanted now: more may be long in coming.
                let written = gzip.write_all(&raw).and_then(|()| gzip.flush());
                gzip.get_mut().drained(written)
            }
        }
    }

    /// What was still held back at the end of the body.
    pub(super) fn finish(&mut self, room: usize) -> Result<Bytes, Undecoded> {
        match self {
            Self::Plain => Ok(Bytes::new()),
            Self::Gzip(gzip) => {
                gzip.get_mut().room = room;
                let finished = gzip.try_finish();
                gzip.get_mut().drained(finished)
            }
        }
    }
}

/// Takes no more than there is room for.
#[derive(Debug, Default)]
pub(super) struct Sink {
    bytes: Vec<u8>,
    room: usize,
    overflowed: bool,
}

impl Sink {
    fn drained(&mut self, outcome: io::Result<()>) -> Result<Bytes, Undecoded> {
        match outcome {
            Err(_) if self.overflowed => Err(Undecoded::TooLarge),
            Err(error) => Err(Undecoded::Broken(error)),
            Ok(()) => Ok(mem::take(&mut self.bytes).into()),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, decoded: &[u8]) -> io::Result<usize> {
        if decoded.len() > self.room.saturating_sub(self.bytes.len()) {
            self.overflowed = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(decoded);
        Ok(decoded.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn gzip() -> Decoder {
        let headers = HeaderMap::from_iter([(CONTENT_ENCODING, "gzip".parse().expect("a header"))]);
        Decoder::of(&headers)
    }

    fn compressed(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(plain).expect("in memory");
        encoder.finish().expect("in memory")
    }

    #[test]
    fn gzip_is_decoded_wherever_it_is_cut() {
        let plain = b"a token, and another token";
        let whole = compressed(plain);
        for cut in 0..=whole.len() {
            let mut decoder = gzip();
            let mut read = Vec::new();
            let (one, two) = whole.split_at(cut);
            for part in [one, two] {
                let part = Bytes::copy_from_slice(part);
                read.extend_from_slice(&decoder.decode(part, 99).expect("gzip"));
            }
            read.extend_from_slice(&decoder.finish(99).expect("whole"));
            assert_eq!(read, plain, "cut at {cut}");
        }
    }

    #[test]
    fn what_was_flushed_by_the_server_is_there_before_the_end() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(b"data: 1\n\n").expect("in memory");
        encoder.flush().expect("in memory");
        let sent = Bytes::copy_from_slice(encoder.get_ref());
        assert_eq!(&*gzip().decode(sent, 99).expect("gzip"), b"data: 1\n\n");
    }

    #[test]
    fn a_small_body_that_grows_beyond_its_room_is_refused_and_takes_none() {
        let bomb = compressed(&vec![0; 50_000_000]);
        assert!(bomb.len() < 100_000, "{}", bomb.len());
        let mut decoder = gzip();
        let refused = decoder.decode(bomb.into(), 100_000);
        assert!(matches!(refused, Err(Undecoded::TooLarge)), "{refused:?}");
        let Decoder::Gzip(decoder) = decoder else {
            panic!("gzip")
        };
        assert!(decoder.get_ref().bytes.capacity() <= 200_000);
    }

    #[test]
    fn gzip_that_ends_early_is_broken() {
        let whole = compressed(b"a token, and another token");
        let mut decoder = gzip();
        let most = Bytes::copy_from_slice(&whole[..whole.len() - 9]);
        decoder.decode(most, 99).expect("so far");
        assert!(matches!(decoder.finish(99), Err(Undecoded::Broken(_))));
    }
}
