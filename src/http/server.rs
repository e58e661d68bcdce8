//! The port: who gets a place, and until when.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{bounds::Bounds, connection::Protocol, tls::Tls};

/// The pause after an accept that failed, for want of file descriptors as a rule.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// A port that is bound, not yet served.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    bounds: Bounds,
    tls: Option<Tls>,
}

/// What each connection needs.
struct Shared<O> {
    protocol: Protocol,
    bounds: Bounds,
    tls: Option<Tls>,
    router: Router,
    opened: O,
    stop: CancellationToken,
}

impl Server {
    /// Binds `addr`; port 0 takes any free one.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn bind(addr: SocketAddr, bounds: Bounds) -> io::Result<Self> {
        let listener = TcpListener::bind(addr).await?;
        Ok(Self {
            listener,
            bounds,
            tls: None,
        })
    }

    /// The same port behind TLS.
    #[must_use]
    pub fn behind(self, tls: Tls) -> Self {
        let tls = Some(tls);
        Self { tls, ..self }
    }

    /// Where it is bound.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop`, then for at most [`Bounds::drain_within`]: nobody new is let in, and
    /// answers under way are finished or cut. What `opened` returns is kept as long as a
    /// connection is open.
    pub async fn serve<O, G>(self, router: Router, opened: O, stop: CancellationToken)
    where
        O: Fn() -> G + Send + Sync + 'static,
        G: Send + 'static,
    {
        let shared = Arc::new(Shared {
            protocol: Protocol::new(self.bounds),
            bounds: self.bounds,
            tls: self.tls,
            router,
            opened,
            stop,
        });
        let connections = TaskTracker::new();
        tokio::select! {
            () = shared.stop.cancelled() => {}
            () = accept(&self.listener, &connections, &shared) => {}
            () = renewed(shared.tls.as_ref()) => {}
        }
        drop(self.listener);
        connections.close();
        // Each of them sees `stop` and ends within the bound.
        connections.wait().await;
    }
}

/// Lets connections in as there are places.
async fn accept<O, G>(listener: &TcpListener, connections: &TaskTracker, shared: &Arc<Shared<O>>)
where
    O: Fn() -> G + Send + Sync + 'static,
    G: Send + 'static,
{
    let places = Arc::new(Semaphore::new(shared.bounds.connections));
    // The semaphore is never closed: this does not end.
    while let Some((stream, peer, place)) = next(listener, &places).await {
        let shared = Arc::clone(shared);
        connections.spawn(async move {
            let open = (shared.opened)();
            shared.serve(stream, peer).await;
            drop((open, place));
        });
    }
}

async fn next(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // An event is to be seen when it happens, not when more of them fill a packet.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "http_nodelay_failed");
                }
                return Some((stream, peer, place));
            }
            Err(error) => {
                tracing::warn!(%error, "http_accept_failed");
                sleep(ACCEPT_AGAIN_AFTER).await;
            }
        }
    }
}

/// Follows the certificate's files, where there are some; never ends.
async fn renewed(tls: Option<&Tls>) {
    match tls {
        Some(tls) => tls.follow_files().await,
        None => std::future::pending().await,
    }
}

impl<O> Shared<O>
where
    O: Send + Sync,
{
    async fn serve<S>(&self, stream: S, peer: SocketAddr)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        match &self.tls {
            // Boxed, so that connections without TLS hold no place for it.
            Some(tls) => Box::pin(self.serve_behind(tls, stream, peer)).await,
            None => self.converse(stream, peer).await,
        }
    }

    async fn serve_behind<S>(&self, tls: &Tls, stream: S, peer: SocketAddr)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let handshake = timeout(self.bounds.head_within, tls.accept(stream));
        match self.stop.run_until_cancelled(handshake).await {
            Some(Ok(Ok(stream))) => self.converse(stream, peer).await,
            Some(Ok(Err(error))) => tracing::debug!(%error, "http_handshake_failed"),
            Some(Err(_late)) => tracing::debug!("http_handshake_late"),
            None => {}
        }
    }

    fn converse<S>(&self, stream: S, peer: SocketAddr) -> impl Future<Output = ()> + Send
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let router = self.router.clone();
        self.protocol.converse(stream, peer, router, &self.stop)
    }
}

#[cfg(test)]
mod tests;
