//! A model server that others wrote, as a process of its own, and what it is told over HTTP.

use std::{
    io,
    net::SocketAddrV4,
    process::{Command, Stdio},
    time::Duration,
};

use puruto_fleet::{
    clock::Chance,
    dev::{port::Port, process::Process},
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, sleep},
};

/// How long it may take to start on a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// How often it is asked meanwhile.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Such a server; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Mock {
    process: Process,
    address: SocketAddrV4,
}

impl Mock {
    /// Starts what `command` makes of a free port, and waits until it says that it is well.
    pub(super) async fn start(command: impl FnOnce(Port) -> Command) -> Self {
        let port = Port::free(&Chance::system()).expect("a free port");
        let mut command = command(port);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let process = Process::spawn(command).await;
        let mut mock = Self {
            process: process.expect("a process"),
            address: port.address(),
        };
        let end = Instant::now() + READY_WITHIN;
        while !mock.is_well().await {
            let ended = mock.process.ended().expect("its status");
            assert!(ended.is_none(), "the mock server ended with {ended:?}");
            assert!(Instant::now() < end, "the mock server never answered");
            sleep(ASK_EVERY).await;
        }
        mock
    }

    /// Where it listens.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it answers at `path`.
    pub(crate) async fn get(&self, path: &str) -> Value {
        self.told("GET", path, "").await
    }

    /// What it answers to this.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Value {
        self.told("POST", path, &body.to_string()).await
    }

    /// Takes back what stands at `path`.
    pub(crate) async fn delete(&self, path: &str) -> Value {
        self.told("DELETE", path, "").await
    }

    async fn is_well(&self) -> bool {
        let asked = self.ask("GET", "/health", "").await;
        asked.is_ok_and(|(status, _)| status == 200)
    }

    async fn told(&self, method: &str, path: &str, body: &str) -> Value {
        let (status, answer) = self.ask(method, path, body).await.expect("an answer");
        assert!((200..300).contains(&status), "{status} {answer}");
        serde_json::from_str(&answer).expect("JSON")
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> io::Result<(u16, String)> {
        let mut stream = TcpStream::connect(self.address).await?;
        // By the older protocol the answer comes whole and ends with the connection.
        let length = body.len();
        let question = format!(
            "{method} {path} HTTP/1.0\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(question.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
        Ok((status.unwrap_or(0), body.to_owned()))
    }
}
