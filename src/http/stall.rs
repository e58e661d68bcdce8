//! A stream whose other side takes what it is sent, or fails.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

/// A stream that fails where none of its writes advances for as long as `within`.
#[derive(Debug)]
pub(super) struct Unstalled<S> {
    io: S,
    within: Duration,
    /// Runs out while a write waits; most connections never have one.
    patience: Option<Pin<Box<Sleep>>>,
}

impl<S> Unstalled<S> {
    pub(super) const fn new(io: S, within: Duration) -> Self {
        Self {
            io,
            within,
            patience: None,
        }
    }

    /// What the write came to, or a failure where it waits for too long.
    fn bounded<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.patience = None;
            return written;
        }
        let within = self.within;
        let patience = self.patience.get_or_insert_with(|| Box::pin(sleep(within)));
        ready!(patience.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Unstalled<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Unstalled<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(context, bytes);
        self.bounded(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(context, slices);
        self.bounded(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.io).poll_flush(context);
        self.bounded(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.io).poll_shutdown(context);
        self.bounded(shut, context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _, duplex},
        time::Instant,
    };

    use super::*;

    const WITHIN: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_given_up() {
        let (_client, served) = duplex(16);
        let mut served = Unstalled::new(served, WITHIN);
        let began = Instant::now();
        let written = served.write_all(&[0; 17]).await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed().as_secs(), WITHIN.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_a_little_now_and_then_is_served() {
        let (mut client, served) = duplex(1);
        let taking = tokio::spawn(async move {
            let mut taken = Vec::new();
            while let Ok(byte) = client.read_u8().await {
                taken.push(byte);
                sleep(WITHIN / 2).await;
            }
            taken
        });
        let mut served = Unstalled::new(served, WITHIN);
        served.write_all(b"slowly").await.unwrap();
        drop(served);
        assert_eq!(taking.await.unwrap(), b"slowly");
    }
}
