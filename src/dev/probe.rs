//! One question over HTTP to a process of our own on the loopback address.

use std::{
    io::{self, Error},
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
    match timeout(ANSWER_WITHIN, ask(port, path)).await {
        Ok(answer) => answer.and_then(|answer| body(&answer)),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

async fn ask(port: Port, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(port.address()).await?;
    // By the older protocol the answer comes whole and ends with the connection.
    let request = format!("GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", port.address());
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.take(ANSWER_CAP).read_to_string(&mut answer).await?;
    Ok(answer)
}

fn body(answer: &str) -> io::Result<String> {
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .ok_or_else(|| Error::other("the answer is no HTTP"))?;
    let status = head.lines().next().unwrap_or_default();
    match status.split(' ').nth(1) {
        Some("200") => Ok(body.to_owned()),
        _ => Err(Error::other(format!("answered {status:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_of_status_200_has_a_body() {
        let ok = body("HTTP/1.0 200 OK\r\na: b\r\n\r\nready\r\n\r\nyes");
        assert_eq!(ok.expect("200"), "ready\r\n\r\nyes");
        assert!(body("HTTP/1.0 503 Service Unavailable\r\n\r\nno").is_err());
        assert!(body("+PONG\r\n").is_err());
    }
}
