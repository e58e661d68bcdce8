//! A TCP line that can be cut: what stands between one worker and one server.
//!
//! Owns the connections that go through it. It changes no byte; while there is trouble it loses
//! or delays some, and a connection that lost any is broken when the trouble ends, as in a real
//! network.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
    time::sleep,
};

use super::schedule::Trouble;

/// How late each piece comes on a slow line.
const SLOW_BY: Duration = Duration::from_millis(300);

/// The largest piece that is moved at once, in bytes.
const PIECE: usize = 64 * 1024;

/// A line to a server; dropping it cuts it for good.
#[derive(Debug)]
pub(super) struct Proxy {
    address: SocketAddr,
    trouble: watch::Sender<Option<Trouble>>,
    serving: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Proxy {
    /// A whole line to `server`, from a free port of the loopback address.
    pub(super) async fn start(server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let (trouble, line) = watch::channel(None);
        Ok(Self {
            address,
            trouble,
            serving: tokio::spawn(serve(listener, server, line)),
        })
    }

    /// Where the worker connects.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on there is this trouble, or none.
    pub(super) fn set(&self, trouble: Option<Trouble>) {
        self.trouble.send_replace(trouble);
    }
}

type Line = watch::Receiver<Option<Trouble>>;

async fn serve(listener: TcpListener, server: SocketAddr, line: Line) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // A connection that could not be accepted is one that its client tries again.
                if let Ok((client, _)) = accepted {
                    connections.spawn(relay(client, server, line.clone()));
                }
            }
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
}

/// How a connection ended.
enum Ended {
    /// One of the two closed it.
    Closed,
    /// We broke it.
    Broken,
}

async fn relay(client: TcpStream, server: SocketAddr, mut line: Line) {
    let cut = async {
        // The other end of the channel is gone only with the whole proxy.
        drop(line.wait_for(|it| *it == Some(Trouble::Cut)).await);
    };
    let connected = tokio::select! {
        biased;
        () = cut => None,
        connected = TcpStream::connect(server) => connected.ok(),
    };
    match connected {
        Some(server) => between(client, server, line).await,
        None => reset(&client),
    }
}

async fn between(mut client: TcpStream, mut server: TcpStream, mut line: Line) {
    let ended = {
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        let lines = (line.clone(), line.clone());
        tokio::select! {
            biased;
            _ = line.wait_for(|it| *it == Some(Trouble::Cut)) => Ended::Broken,
            ended = pump(from_client, to_server, lines.0, Direction::ToServer) => ended,
            ended = pump(from_server, to_client, lines.1, Direction::ToClient) => ended,
        }
    };
    if let Ended::Broken = ended {
        reset(&client);
        reset(&server);
    }
}

/// The connection ends with a reset instead of a farewell when it is dropped.
fn reset(stream: &TcpStream) {
    // One that is gone already needs none.
    drop(stream.set_zero_linger());
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    ToServer,
    ToClient,
}

/// What becomes of the next piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Passes,
    IsLate,
    Vanishes,
}

const fn fate(trouble: Option<Trouble>, direction: Direction) -> Fate {
    match (trouble, direction) {
        (Some(Trouble::HalfOpen), _) | (Some(Trouble::Mute), Direction::ToServer) => Fate::Vanishes,
        (Some(Trouble::Slow), _) => Fate::IsLate,
        // A cut ends the whole connection elsewhere.
        (None | Some(Trouble::Cut), _) | (Some(Trouble::Mute), Direction::ToClient) => Fate::Passes,
    }
}

async fn pump<R, W>(mut from: R, mut to: W, mut line: Line, direction: Direction) -> Ended
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut piece = vec![0; PIECE];
    let mut holed = false;
    loop {
        let fate = fate(*line.borrow_and_update(), direction);
        if holed && fate != Fate::Vanishes {
            return Ended::Broken;
        }
        let read = tokio::select! {
            biased;
            _ = line.changed() => continue,
            read = from.read(&mut piece) => read,
        };
        let Some(bytes) = read.ok().and_then(|length| piece.get(..length)) else {
            return Ended::Broken;
        };
        if bytes.is_empty() {
            return Ended::Closed;
        }
        match fate {
            Fate::Vanishes => {
                holed = true;
                continue;
            }
            Fate::IsLate => sleep(SLOW_BY).await,
            Fate::Passes => {}
        }
        if to.write_all(bytes).await.is_err() {
            return Ended::Broken;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    /// Longer than any of these needs.
    const WITHIN: Duration = Duration::from_secs(30);
    /// A moment in which nothing may come.
    const MOMENT: Duration = Duration::from_millis(100);

    /// A server that sends back what it gets.
    async fn echo() -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("bound");
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut read, mut write) = stream.split();
                    drop(tokio::io::copy(&mut read, &mut write).await);
                });
            }
        });
        address
    }

    async fn line() -> (Proxy, TcpStream) {
        let proxy = Proxy::start(echo().await).await.expect("a proxy");
        let client = TcpStream::connect(proxy.address()).await.expect("a line");
        (proxy, client)
    }

    async fn answer(client: &mut TcpStream) -> io::Result<u8> {
        let answer = timeout(WITHIN, client.read_u8()).await;
        answer.expect("an answer or an end in time")
    }

    #[tokio::test]
    async fn a_whole_line_passes_everything_on() {
        let (_proxy, mut client) = line().await;
        client.write_u8(1).await.expect("sent");
        assert_eq!(answer(&mut client).await.expect("an answer"), 1);
    }

    #[tokio::test]
    async fn a_cut_resets_what_is_there_and_what_comes_until_it_ends() {
        let (proxy, mut client) = line().await;
        client.write_u8(1).await.expect("sent");
        answer(&mut client).await.expect("an answer");
        proxy.set(Some(Trouble::Cut));
        let error = answer(&mut client).await.expect_err("no line");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        let mut next = TcpStream::connect(proxy.address()).await.expect("accepted");
        answer(&mut next).await.expect_err("no line either");
        proxy.set(None);
        let mut again = TcpStream::connect(proxy.address()).await.expect("accepted");
        again.write_u8(2).await.expect("sent");
        assert_eq!(answer(&mut again).await.expect("an answer"), 2);
    }

    #[tokio::test]
    async fn a_half_open_line_takes_everything_and_is_broken_when_that_ends() {
        let (proxy, mut client) = line().await;
        proxy.set(Some(Trouble::HalfOpen));
        client.write_u8(1).await.expect("sent");
        let nothing = timeout(MOMENT, client.read_u8()).await;
        nothing.expect_err("no answer, no end");
        proxy.set(None);
        answer(&mut client).await.expect_err("bytes are missing");
    }

    #[tokio::test]
    async fn a_slow_line_passes_everything_on_late() {
        let (proxy, mut client) = line().await;
        proxy.set(Some(Trouble::Slow));
        let began = tokio::time::Instant::now();
        client.write_u8(1).await.expect("sent");
        assert_eq!(answer(&mut client).await.expect("an answer"), 1);
        assert!(began.elapsed() >= 2 * SLOW_BY, "there and back");
    }
}
