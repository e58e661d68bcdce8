//! The body of an answer, in the pieces in which it comes.
//!
//! Counts what was decoded, not what the server promised. When it is complete its connection goes
//! back to the pool; dropped before, the connection is closed. Never: room made for bytes that
//! have not come.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::{HeaderMap, body::Incoming};
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    broken,
    decode::{Decoder, Undecoded},
    link::Link,
    pool::Permit,
    rules::Limits,
};
use crate::runtime::{Fault, fault::Phase};

/// Most that is read of a refusal's body, in bytes.
const ERROR_BODY_MAX: usize = 64 * 1024;
/// Most to which one piece of it may decode, in bytes.
const ERROR_PIECE_MAX: usize = 1024 * 1024;
/// Longest wait for a refusal's body: a server that trickles it must not turn its 401 into a
/// time-out.
const ERROR_BODY_WAIT: Duration = Duration::from_secs(2);

/// A body that is being read.
#[derive(Debug)]
pub(in crate::runtime::connector) struct Body {
    incoming: Incoming,
    decoder: Decoder,
    read: usize,
    cap: usize,
    between_bytes: Duration,
    held: Option<Held>,
}

/// What the body gives back once it is complete.
#[derive(Debug)]
struct Held {
    link: Link,
    permit: Permit,
    idle_for: Option<Duration>,
}

impl Body {
    pub(super) fn new(incoming: Incoming, headers: &HeaderMap, limits: &Limits) -> Self {
        Self {
            incoming,
            decoder: Decoder::of(headers),
            read: 0,
            cap: limits.body_max,
            between_bytes: limits.between_bytes,
            held: None,
        }
    }

    /// Holds `link` and `permit` until it is complete or dropped.
    pub(super) fn over(mut self, link: Link, permit: Permit, idle_for: Option<Duration>) -> Self {
        self.held = Some(Held {
            link,
            permit,
            idle_for,
        });
        self
    }

    /// The same, to be read up to another cap.
    pub(in crate::runtime::connector) const fn up_to(mut self, cap: usize) -> Self {
        self.cap = cap;
        self
    }

    /// The next piece, decoded; `None` once the body is complete.
    ///
    /// # Errors
    /// It was cut short, it is longer than the cap, or the next piece is too long in coming. Not to
    /// be asked again afterwards.
    pub(in crate::runtime::connector) async fn chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        while let Some(raw) = self.raw().await? {
            let decoded = self.decoder.decode(raw, self.cap - self.read);
            let decoded = self.counted(decoded)?;
            if !decoded.is_empty() {
                return Ok(Some(decoded));
            }
        }
        let rest = self.decoder.finish(self.cap - self.read);
        let rest = self.counted(rest)?;
        Ok((!rest.is_empty()).then_some(rest))
    }

    /// All of it.
    ///
    /// # Errors
    /// As [`Body::chunk`].
    pub(in crate::runtime::connector) async fn whole(mut self) -> Result<Vec<u8>, Fault> {
        let mut whole = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            whole.extend_from_slice(&chunk);
        }
        Ok(whole)
    }

    /// The beginning of a refusal's body. What cannot be read is left out: the status says enough.
    pub(in crate::runtime::connector) async fn beginning(mut self) -> Vec<u8> {
        self.cap = ERROR_BODY_MAX + ERROR_PIECE_MAX;
        let mut beginning = Vec::new();
        let enough = Instant::now() + ERROR_BODY_WAIT;
        while let Ok(Ok(Some(chunk))) = timeout_at(enough, self.chunk()).await {
            let room = ERROR_BODY_MAX.saturating_sub(beginning.len());
            beginning.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
            if beginning.len() >= ERROR_BODY_MAX {
                break;
            }
        }
        beginning
    }

    /// The next piece as it came; `None` once there is none, when the connection goes back.
    async fn raw(&mut self) -> Result<Option<Bytes>, Fault> {
        let after = self.between_bytes;
        loop {
            match timeout(after, self.incoming.frame()).await {
                // Trailers say nothing that is asked for.
                Ok(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Ok(Some(Err(error))) => return Err(broken::cut(&error)),
                Ok(None) => {
                    self.give_back();
                    return Ok(None);
                }
                Err(_) => {
                    return Err(Fault::Timeout {
                        phase: Phase::BetweenBytes,
                        after,
                    });
                }
            }
        }
    }

    fn give_back(&mut self) {
        if let Some(Held {
            link,
            permit,
            idle_for: Some(idle_for),
        }) = self.held.take()
        {
            permit.keep(link, idle_for);
        }
    }

    fn counted(&mut self, decoded: Result<Bytes, Undecoded>) -> Result<Bytes, Fault> {
        match decoded {
            Ok(bytes) => {
                self.read += bytes.len();
                Ok(bytes)
            }
            Err(Undecoded::TooLarge) => Err(Fault::BodyTooLarge { cap: self.cap }),
            Err(Undecoded::Broken(error)) => Err(broken::cut(&error)),
        }
    }
}
