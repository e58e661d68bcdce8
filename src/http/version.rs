//! Which version of HTTP a client speaks, by how it begins.
//!
//! Never: a wait of its own; whoever reads bounds it.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

/// How each HTTP/2 connection begins (RFC 9113, section 3.4); no other version does.
const PREFACE: [u8; 24] = *b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// HTTP/1.0 or HTTP/1.1.
    One,
    /// HTTP/2.
    Two,
}

/// A stream of which the beginning was read, and is read again.
#[derive(Debug)]
pub(super) struct Begun<S> {
    /// What is still to be read again.
    beginning: Bytes,
    io: S,
}

impl<S: AsyncRead + Unpin> Begun<S> {
    /// Reads as much as tells the version; a stream that ends before speaks the first.
    pub(super) async fn read(mut io: S) -> io::Result<(Version, Self)> {
        let mut read = BytesMut::with_capacity(PREFACE.len());
        let version = loop {
            let rest = PREFACE.strip_prefix(&*read);
            match rest.map(<[u8]>::len) {
                None => break Version::One,
                Some(0) => break Version::Two,
                Some(rest) => {
                    let mut rest = (&mut io).take(rest as u64);
                    if rest.read_buf(&mut read).await? == 0 {
                        break Version::One;
                    }
                }
            }
        };
        let beginning = read.freeze();
        Ok((version, Self { beginning, io }))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Begun<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.beginning.is_empty() {
            return Pin::new(&mut self.io).poll_read(context, buffer);
        }
        let more = buffer.remaining().min(self.beginning.len());
        buffer.put_slice(&self.beginning.split_to(more));
        // With what has arrived since: hyper doubles its buffer where a head comes in two pieces.
        match Pin::new(&mut self.io).poll_read(context, buffer) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Ready(Ok(())),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Begun<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt as _, duplex};

    use super::*;

    /// What is read of a client that sends `pieces`, one after the other, and ends.
    async fn read(pieces: &[&[u8]]) -> (Version, Vec<u8>) {
        let (mut client, served) = duplex(1);
        let reading = tokio::spawn(async move {
            let (version, mut begun) = Begun::read(served).await.unwrap();
            let mut all = Vec::new();
            begun.read_to_end(&mut all).await.unwrap();
            (version, all)
        });
        for piece in pieces {
            client.write_all(piece).await.unwrap();
        }
        drop(client);
        reading.await.unwrap()
    }

    #[tokio::test]
    async fn a_beginning_tells_the_version_and_is_read_again() {
        let first: &[u8] = b"POST / HTTP/1.1\r\n\r\nbody";
        for pieces in [&[first][..], &[b"P", b"U", b"T / HTTP/1.1"], &[b"PRI"], &[]] {
            assert_eq!(read(pieces).await, (Version::One, pieces.concat()));
        }
        let second: &[&[u8]] = &[&PREFACE[..7], &PREFACE[7..], b"frames"];
        assert_eq!(read(second).await, (Version::Two, second.concat()));
    }
}
