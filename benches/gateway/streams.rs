//! How much memory open streams of events take.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    time::{Duration, sleep},
};

use super::{Outcome, USED, post::Gateway};

const STREAMS: usize = 5_000;
/// Streams that are opened at a time.
const AT_ONCE: usize = 32;
/// How long they stay open before the memory is read: two words that keep them alive.
const OPEN_FOR: Duration = Duration::from_secs(35);
/// The line that ends an event.
const END: &str = "\n";

pub(super) async fn main(address: &str) -> Outcome<()> {
    let gateway = Gateway::at(address);
    println!("{USED}");
    let opening = (0..STREAMS).map(|_| open(&gateway, address));
    let mut open: Vec<_> = stream::iter(opening)
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await?;
    println!(
        "streams: {} open, each of an execution of its own",
        open.len()
    );
    println!("{USED}");
    sleep(OPEN_FOR).await;
    println!("after {OPEN_FOR:?}");
    println!("{USED}");
    for stream in &mut open {
        // A word that keeps it alive is there; the end of the stream would be nothing.
        if stream.read_u8().await.is_err() {
            return Err("a stream has ended".into());
        }
    }
    Ok(())
}

/// Starts an execution and follows it; returns behind the first event.
async fn open(gateway: &Gateway, address: &str) -> Outcome<BufReader<TcpStream>> {
    let id = gateway.invoke().await?;
    let mut stream = BufReader::with_capacity(1_024, TcpStream::connect(address).await?);
    let request = format!(
        "GET /v1/executions/{id}/events HTTP/1.1\r\nHost: {address}\r\nAccept: text/event-stream\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    if !line.starts_with("HTTP/1.1 200 ") {
        return Err(line.into());
    }
    while line != END {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Err("a stream without an event".into());
        }
    }
    Ok(stream)
}
