//! A model server that does to a connection what it is told, byte by byte.
//!
//! Owns raw TCP and just enough HTTP to know where a request ends; no HTTP library would send
//! what is sent here. It ends with the value that stands for it.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::sleep,
};

/// What is done with one request.
#[derive(Clone, Debug)]
pub(crate) struct Deed {
    steps: Vec<Step>,
    then: Then,
}

#[derive(Clone, Debug)]
enum Step {
    Send(Vec<u8>),
    /// The same bytes again and again, until the client hangs up.
    Repeat {
        bytes: Vec<u8>,
        every: Duration,
    },
    Wait(Duration),
}

/// What becomes of the connection afterwards.
#[derive(Clone, Copy, Debug)]
enum Then {
    Listen,
    Close,
    Reset,
    /// Nothing more is said until the client hangs up.
    Hang,
}

impl Deed {
    /// These bytes, then the next request of the same connection.
    pub(crate) fn send(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            steps: vec![Step::Send(bytes.into())],
            then: Then::Listen,
        }
    }

    /// A complete response of this status, with more header lines, each with its line end.
    pub(crate) fn respond(status: u16, headers: &str, body: &str) -> Self {
        let length = body.len();
        Self::send(format!(
            "HTTP/1.1 {status} As Told\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        ))
    }

    /// This JSON under HTTP 200.
    pub(crate) fn json(body: &Value) -> Self {
        let headers = "Content-Type: application/json\r\n";
        Self::respond(200, headers, &body.to_string())
    }

    /// Nothing at all.
    pub(crate) fn silence() -> Self {
        Self::send([]).then_hang()
    }

    /// The same bytes again and again.
    pub(crate) fn and_repeat(mut self, bytes: impl Into<Vec<u8>>, every: Duration) -> Self {
        let bytes = bytes.into();
        self.steps.push(Step::Repeat { bytes, every });
        self
    }

    /// Time between what came before and what comes after.
    pub(crate) fn and_wait(mut self, time: Duration) -> Self {
        self.steps.push(Step::Wait(time));
        self
    }

    /// More bytes, in a packet of their own.
    pub(crate) fn and_send(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.steps.push(Step::Send(bytes.into()));
        self
    }

    /// Ends the connection in order.
    pub(crate) fn then_close(self) -> Self {
        Self {
            then: Then::Close,
            ..self
        }
    }

    /// Breaks the connection off: the client is sent an RST.
    pub(crate) fn then_reset(self) -> Self {
        Self {
            then: Then::Reset,
            ..self
        }
    }

    /// Says nothing more, and keeps the connection.
    pub(crate) fn then_hang(self) -> Self {
        Self {
            then: Then::Hang,
            ..self
        }
    }
}

/// A server with its script; dropping it ends it.
#[derive(Debug)]
pub(crate) struct FaultServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    first: Vec<Deed>,
    later: Deed,
    requests: Mutex<Vec<String>>,
    connections: AtomicUsize,
    sent: AtomicUsize,
}

impl FaultServer {
    /// Does the first deeds with the first requests, in whatever connections they come, and the
    /// last one with every later request.
    pub(crate) async fn start(first: impl IntoIterator<Item = Deed>, later: Deed) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let shared = Arc::new(Shared {
            first: first.into_iter().collect(),
            later,
            requests: Mutex::default(),
            connections: AtomicUsize::new(0),
            sent: AtomicUsize::new(0),
        });
        let mut serving = JoinSet::new();
        serving.spawn(accept(listener, Arc::clone(&shared)));
        Self {
            address,
            shared,
            _serving: serving,
        }
    }

    /// Where it listens.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many requests it has read.
    pub(crate) fn requests(&self) -> usize {
        self.shared.requests().len()
    }

    /// The head and the body of each request.
    pub(crate) fn told(&self) -> Vec<String> {
        self.shared.requests().clone()
    }

    /// How many connections were made to it.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// How many bytes it got rid of.
    pub(crate) fn sent(&self) -> usize {
        self.shared.sent.load(Ordering::SeqCst)
    }
}

impl Shared {
    fn requests(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deed_for(&self, request: String) -> Deed {
        let mut requests = self.requests();
        requests.push(request);
        let deed = self.first.get(requests.len() - 1);
        deed.unwrap_or(&self.later).clone()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        shared.connections.fetch_add(1, Ordering::SeqCst);
        connections.spawn(serve(stream, Arc::clone(&shared)));
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    while let Some(request) = next_request(&mut stream).await {
        let deed = shared.deed_for(request);
        for step in deed.steps {
            if !take(step, &mut stream, &shared).await {
                return;
            }
        }
        match deed.then {
            Then::Listen => {}
            Then::Close => return,
            Then::Reset => return stream.set_zero_linger().expect("a socket option"),
            Then::Hang => {
                while let Ok(1..) = stream.read(&mut [0; 1_024]).await {}
                return;
            }
        }
    }
}

/// Whether the client is still there.
async fn take(step: Step, stream: &mut TcpStream, shared: &Shared) -> bool {
    match step {
        Step::Send(bytes) => send(&bytes, stream, shared).await,
        Step::Wait(time) => {
            sleep(time).await;
            true
        }
        Step::Repeat { bytes, every } => {
            while send(&bytes, stream, shared).await {
                sleep(every).await;
            }
            false
        }
    }
}

async fn send(bytes: &[u8], stream: &mut TcpStream, shared: &Shared) -> bool {
    let sent = stream.write_all(bytes).await.is_ok() && stream.flush().await.is_ok();
    if sent {
        shared.sent.fetch_add(bytes.len(), Ordering::SeqCst);
    }
    sent
}

/// The next request as text; `None` once the client hangs up.
async fn next_request(stream: &mut TcpStream) -> Option<String> {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read);
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && body.len() >= length_of_body(head)
        {
            return Some(text.into_owned());
        }
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
}

fn length_of_body(head: &str) -> usize {
    let lower = head.to_ascii_lowercase();
    let length = lower.split("content-length:").nth(1);
    let length = length.and_then(|rest| rest.lines().next()?.trim().parse().ok());
    length.unwrap_or(0)
}
