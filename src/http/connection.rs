//! One connection: its requests, until it ends, is idle for too long, or the server stops.

use std::{
    fmt,
    net::SocketAddr,
    pin::{Pin, pin},
    time::Duration,
};

use axum::Router;
use hyper::server::conn::{http1, http2};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::graceful::GracefulConnection,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use super::{
    activity::Activity,
    bounds::Bounds,
    requests::Requests,
    stall::Unstalled,
    version::{Begun, Version},
};

/// How long a connection that is to end may stay open with nothing under way.
const LEAVE_WITHIN: Duration = Duration::from_secs(1);
/// After how long of silence an HTTP/2 client is asked whether it is there.
const PING_EVERY: Duration = Duration::from_secs(20);
/// Bytes of one HTTP/2 request's body that may arrive before they are read.
const STREAM_WINDOW: u32 = 64 * 1024;
/// The same of all requests of one connection.
const CONNECTION_WINDOW: u32 = 256 * 1024;
/// Bytes of one HTTP/2 answer that wait to be sent.
const SEND_BUFFER: usize = 64 * 1024;

/// How connections are served; one for all of a server's.
#[derive(Clone, Debug)]
pub(super) struct Protocol {
    one: http1::Builder,
    two: http2::Builder<TokioExecutor>,
    bounds: Bounds,
}

impl Protocol {
    pub(super) fn new(bounds: Bounds) -> Self {
        let mut one = http1::Builder::new();
        one.timer(TokioTimer::new())
            .header_read_timeout(bounds.head_within)
            .max_headers(bounds.headers)
            .max_buf_size(bounds.head_bytes);
        let mut two = http2::Builder::new(TokioExecutor::new());
        two.timer(TokioTimer::new())
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(bounds.head_within)
            .max_concurrent_streams(bounds.streams)
            .max_header_list_size(u32::try_from(bounds.head_bytes).unwrap_or(u32::MAX))
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buf_size(SEND_BUFFER);
        Self { one, two, bounds }
    }

    /// Answers the requests of `stream`; returns within `drain_within` after `stop`.
    pub(super) async fn converse<S>(
        &self,
        stream: S,
        peer: SocketAddr,
        router: Router,
        stop: &CancellationToken,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let activity = Activity::default();
        let stream = Unstalled::new(stream, self.bounds.taken_within);
        let (version, stream) = tokio::select! {
            begun = Begun::read(stream) => match begun {
                Ok(begun) => begun,
                Err(error) => return report(Err(error)),
            },
            () = activity.idle_for(self.bounds.head_within) => return,
            () = stop.cancelled() => return,
        };
        let io = TokioIo::new(stream);
        let requests = Requests::new(router, peer, activity.clone());
        match version {
            Version::One => {
                let connection = pin!(self.one.serve_connection(io, requests));
                self.carry(connection, &activity, stop).await;
            }
            Version::Two => {
                // Boxed: it is twice as large, and most connections are of the other version.
                let mut connection = Box::pin(self.two.serve_connection(io, requests));
                self.carry(connection.as_mut(), &activity, stop).await;
            }
        }
    }

    /// Until the connection ends, is idle for too long, or has to stop.
    async fn carry<C>(
        &self,
        mut connection: Pin<&mut C>,
        activity: &Activity,
        stop: &CancellationToken,
    ) where
        C: GracefulConnection<Error = hyper::Error>,
    {
        tokio::select! {
            ended = connection.as_mut() => return report(ended),
            () = activity.idle_for(self.bounds.head_within) => {}
            () = stop.cancelled() => {}
        }
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            ended = connection => report(ended),
            () = activity.idle_for(LEAVE_WITHIN) => {}
            () = sleep(self.bounds.drain_within) => tracing::debug!("http_answer_cut"),
        }
    }
}

/// What went wrong lies with the other side, or with the way to it.
fn report(ended: Result<(), impl fmt::Display>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "http_connection_failed");
    }
}
