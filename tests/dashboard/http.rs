//! HTTP by hand, for what no browser would send.

use std::net::Ipv4Addr;

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpSocket,
};

use crate::{
    console::{Console, TOKEN},
    patience::within,
};

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }

    /// Its body.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The code of the error that it is.
    pub(crate) fn code(&self) -> String {
        let body = self.json();
        body["error"]["code"].as_str().expect("a code").to_owned()
    }
}

/// Sends a request with these headers; the answer, once the server closes.
pub(crate) async fn send(
    console: &Console,
    line: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    send_from(Ipv4Addr::LOCALHOST, console, line, headers, body).await
}

/// The same from another address of this machine.
pub(crate) async fn send_from(
    peer: Ipv4Addr,
    console: &Console,
    line: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let address = console.address();
    let mut question = format!("{line} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    for (name, value) in headers {
        question.push_str(&format!("{name}: {value}\r\n"));
    }
    question.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    let exchange = async {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind((peer, 0).into()).expect("an address of ours");
        let mut stream = socket.connect(address).await.expect("a connection");
        stream.write_all(question.as_bytes()).await.expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("text");
        answer
    };
    let answer = within(line, exchange).await;
    let (head, body) = answer.split_once("\r\n\r\n").expect("HTTP");
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
    Answer {
        status: status.expect("a status"),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// The cookie of a new session.
pub(crate) async fn session(console: &Console) -> String {
    let body = format!("token={}", TOKEN.replace(' ', "+"));
    let answer = send(console, "POST /dashboard/login", &[], &body).await;
    assert_eq!(answer.status, 303, "{answer:?}");
    let cookie = answer.header("set-cookie").expect("a cookie");
    let (pair, _) = cookie.split_once(';').expect("a cookie's attributes");
    pair.to_owned()
}

/// Asks as a page of ours.
pub(crate) async fn get(console: &Console, session: &str, path: &str) -> Answer {
    let line = format!("GET /dashboard/api{path}");
    send(console, &line, &[("Cookie", session)], "").await
}

/// Does something as a page of ours.
pub(crate) async fn post(console: &Console, session: &str, path: &str, body: &Value) -> Answer {
    let line = format!("POST /dashboard/api{path}");
    let headers = [
        ("Cookie", session),
        ("X-Puruto-Dashboard", "1"),
        ("Content-Type", "application/json"),
    ];
    send(console, &line, &headers, &body.to_string()).await
}
