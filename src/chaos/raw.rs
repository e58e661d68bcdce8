//! The broker, spoken to by hand: what no client library would send, and what stands in a stream
//! whatever it is.
//!
//! Owns one connection. A second opinion: nothing here is the fleet's own client.

use std::{io, time::Duration};

use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    time::timeout,
};

use super::schedule::Hostile;
use crate::dev::port::Port;

/// How long one answer may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

const INBOX: &str = "_INBOX.chaos";

/// A connection to the broker.
#[derive(Debug)]
pub(super) struct Raw {
    stream: BufReader<TcpStream>,
}

/// A message as it came over the wire.
#[derive(Debug)]
pub(super) struct RawMessage {
    headers: Vec<u8>,
    body: Vec<u8>,
}

#[derive(Deserialize)]
struct Stored {
    seq: u64,
}

impl RawMessage {
    /// The number in the header `name`, which is not looked for in any other way.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        let headers = String::from_utf8_lossy(&self.headers);
        let mut lines = headers.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        value.trim().parse().ok()
    }

    /// Headers and body together.
    pub(super) fn text(&self) -> String {
        let headers = String::from_utf8_lossy(&self.headers);
        format!("{headers}{}", String::from_utf8_lossy(&self.body))
    }
}

impl Raw {
    pub(super) async fn connect(port: Port) -> io::Result<Self> {
        let stream = TcpStream::connect(port.address()).await?;
        let mut raw = Self {
            stream: BufReader::new(stream),
        };
        let hello = format!(
            "CONNECT {{\"verbose\":false,\"headers\":true,\"no_responders\":true}}\r\n\
             SUB {INBOX} 1\r\n"
        );
        raw.stream.write_all(hello.as_bytes()).await?;
        Ok(raw)
    }

    /// Publishes a message that breaks whoever reads it; where it was stored.
    pub(super) async fn publish(&mut self, subject: &str, hostile: Hostile) -> io::Result<u64> {
        let (headers, body): (&[u8], &[u8]) = match hostile {
            Hostile::LoneReturn => (b"NATS/1.0\r\nX: a\rb\r\n\r\n", b"{}"),
            Hostile::NoUtf8 => (b"NATS/1.0\r\nX: \xff\xfe\r\n\r\n", b"{}"),
            Hostile::NoColon => (b"NATS/1.0\r\nno colon\r\n\r\n", b"{}"),
            Hostile::Garbage => (b"NATS/1.0\r\n\r\n", b"\xff[[[{\"request_id\": "),
        };
        let (head, all) = (headers.len(), headers.len() + body.len());
        let mut message = format!("HPUB {subject} {INBOX} {head} {all}\r\n").into_bytes();
        message.extend(headers);
        message.extend(body);
        message.extend(b"\r\n");
        let answer = self.ask(&message).await?;
        let stored: Stored = serde_json::from_slice(&answer.body)?;
        Ok(stored.seq)
    }

    /// The first message of a stream from `sequence` on, and its own sequence.
    pub(super) async fn from(
        &mut self,
        stream: &str,
        sequence: u64,
    ) -> io::Result<Option<(u64, RawMessage)>> {
        let body = format!("{{\"seq\":{sequence},\"next_by_subj\":\">\"}}");
        let length = body.len();
        let call = format!("PUB $JS.API.DIRECT.GET.{stream} {INBOX} {length}\r\n{body}\r\n");
        let message = self.ask(call.as_bytes()).await?;
        let sequence = message.number("Nats-Sequence");
        Ok(sequence.map(|it| (it, message)))
    }

    async fn ask(&mut self, message: &[u8]) -> io::Result<RawMessage> {
        let asked = async {
            self.stream.write_all(message).await?;
            self.answer().await
        };
        match timeout(ANSWER_WITHIN, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    async fn answer(&mut self) -> io::Result<RawMessage> {
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let mut words = line.split_whitespace();
            match words.next() {
                Some("HMSG") => {
                    let (all, head) = (length(words.next_back())?, length(words.next_back())?);
                    return self.message(head, all).await;
                }
                Some("MSG") => {
                    let all = length(words.next_back())?;
                    return self.message(0, all).await;
                }
                Some("PING") => self.stream.write_all(b"PONG\r\n").await?,
                Some("-ERR") => return Err(io::Error::other(line)),
                _ => {}
            }
        }
    }

    async fn message(&mut self, head: usize, all: usize) -> io::Result<RawMessage> {
        let mut headers = vec![0; all];
        self.stream.read_exact(&mut headers).await?;
        let body = headers.split_off(head.min(all));
        // The line end behind it.
        self.stream.read_u16().await?;
        Ok(RawMessage { headers, body })
    }
}

fn length(word: Option<&str>) -> io::Result<usize> {
    let length = word.and_then(|it| it.parse().ok());
    length.ok_or_else(|| io::Error::other("a message without its length"))
}
