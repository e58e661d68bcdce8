//! One question over HTTP to a process of our own.

use std::{
    io::{self, Error},
    net::SocketAddr,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use super::port::Port;

/// How long an answer may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// No answer that we ask for is longer, in bytes.
const ANSWER_CAP: u64 = 1024 * 1024;

/// The body of the answer when its status is 200; an error otherwise.
pub(super) async fn get(port: Port, path: &str) -> io::Result<String> {
    match ask(port.address().into(), path).await? {
        (200, body) => Ok(body),
        (status, _) => Err(Error::other(format!("answered with status {status}"))),
    }
}

/// Status and body of the answer of whoever serves `path` at `address`.
///
/// # Errors
///
/// When nobody answers in time, or not in HTTP.
pub async fn ask(address: SocketAddr, path: &str) -> io::Result<(u16, String)> {
    match timeout(ANSWER_WITHIN, exchange(address, path)).await {
        Ok(answer) => read(&answer?),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

async fn exchange(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    // By the older protocol the answer comes whole and ends with the connection.
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.take(ANSWER_CAP).read_to_string(&mut answer).await?;
    Ok(answer)
}

fn read(answer: &str) -> io::Result<(u16, String)> {
    let no_http = || Error::other("the answer is no HTTP");
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(no_http)?;
    let status = head.lines().next().unwrap_or_default().split(' ').nth(1);
    let status = status.and_then(|it| it.parse().ok()).ok_or_else(no_http)?;
    Ok((status, body.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_a_status_and_whatever_follows_its_head() {
        let ok = read("HTTP/1.0 200 OK\r\na: b\r\n\r\nready\r\n\r\nyes");
        assert_eq!(ok.expect("HTTP"), (200, "ready\r\n\r\nyes".to_owned()));
        let no = read("HTTP/1.0 503 Service Unavailable\r\n\r\nno");
        assert_eq!(no.expect("HTTP"), (503, "no".to_owned()));
        assert!(read("+PONG\r\n").is_err());
        assert!(read("+PONG OK\r\n\r\n").is_err());
    }
}
