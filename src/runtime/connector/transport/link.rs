//! One connection to a model server: one request at a time, over HTTP/1.1.
//!
//! Its task only moves bytes; dropped, the link closes at once and the task is gone. Never: a
//! second request before the first is answered.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    HeaderMap, Request, Response,
    body::Incoming,
    client::conn::http1::{Builder, SendRequest},
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::timeout,
};
use tokio_util::task::AbortOnDropHandle;

use super::{dial::Stream, keep_alive::Uses};

/// Longest head of an answer, in bytes; also how far the read buffer, of 8 KiB, may grow.
const HEAD_MAX: usize = 64 * 1024;
/// Most headers of an answer.
const HEADERS_MAX: usize = 100;
/// Longest wait until a kept connection takes its next request. It does at once, unless the server
/// answered the last one before it had read it.
const READY_WAIT: Duration = Duration::from_millis(100);

/// A connection over which requests can be sent.
#[derive(Debug)]
pub(super) struct Link {
    sender: SendRequest<Full<Bytes>>,
    heard: Arc<AtomicU64>,
    uses: Uses,
    _task: AbortOnDropHandle<()>,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) struct Unanswered {
    pub(super) error: hyper::Error,
    /// Not one byte came back.
    pub(super) silent: bool,
}

impl Link {
    /// Speaks HTTP/1.1 over `stream`.
    pub(super) async fn over(stream: Box<dyn Stream>) -> Result<Self, hyper::Error> {
        let heard = Arc::new(AtomicU64::new(0));
        let io = TokioIo::new(Heard {
            stream,
            bytes: Arc::clone(&heard),
        });
        let (sender, connection) = Builder::new()
            .max_buf_size(HEAD_MAX)
            .max_headers(HEADERS_MAX)
            .handshake(io)
            .await?;
        let task = tokio::spawn(async {
            // Whoever waits for an answer or a body is told of the same error.
            drop(connection.await);
        });
        Ok(Self {
            sender,
            heard,
            uses: Uses::default(),
            _task: AbortOnDropHandle::new(task),
        })
    }

    /// Whether the server has not closed it.
    pub(super) fn is_alive(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Sends one request and waits for the head of its answer.
    ///
    /// # Errors
    /// The connection broke.
    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Unanswered> {
        let before = self.heard.load(Ordering::Relaxed);
        // One that is never ready refuses the request, which is then known to be unsent.
        drop(timeout(READY_WAIT, self.sender.ready()).await);
        let sent = self.sender.send_request(request).await;
        sent.map_err(|error| Unanswered {
            error,
            silent: self.heard.load(Ordering::Relaxed) == before,
        })
    }

    /// Notes the `headers` of an answer. How long the connection may be kept afterwards, at most
    /// `longest`; `None`: not at all.
    pub(super) fn answered(&mut self, headers: &HeaderMap, longest: Duration) -> Option<Duration> {
        self.uses.answered(headers, longest)
    }
}

/// Counts the bytes that come back.
struct Heard {
    stream: Box<dyn Stream>,
    bytes: Arc<AtomicU64>,
}

impl AsyncRead for Heard {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let more = buffer.filled().len().saturating_sub(before);
        self.bytes.fetch_add(more as u64, Ordering::Relaxed);
        read
    }
}

impl AsyncWrite for Heard {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }
}
