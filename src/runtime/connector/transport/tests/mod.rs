//! The transport over streams in memory, on a paused clock; what needs real sockets is in `tls`.

mod abandoned;
mod body;
mod permits;
mod reuse;
mod time;
mod tls;

use std::{
    collections::VecDeque,
    fmt, iter,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::Full;
use hyper::{Request, StatusCode};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
    time::sleep,
};

use super::{
    dial::{Dial, Stream, Undialled},
    exchange::{Answered, exchange},
    pool::{HostPool, Origin, Pool},
    rules::{ConnectionLimit, Limits, PoolRules},
};
use crate::runtime::{
    Fault, ModelName,
    breaker::{BreakerState, CircuitName},
    observe::{CallDone, Observe, Validation},
};

const QUESTION: &str = "{\"q\":1}";
const LIMITS: Limits = Limits {
    request: Duration::from_secs(120),
    first_byte: Some(Duration::from_secs(60)),
    between_bytes: Duration::from_secs(30),
    body_max: 4 * 1024 * 1024,
};

fn limit(connections: u16) -> ConnectionLimit {
    ConnectionLimit::nearest(connections.into())
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A whole answer, with these headers beside its length.
fn answer(headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n{headers}\r\n{body}")
}

/// What a server does with one connection, step by step; after the last it closes it.
#[derive(Clone, Debug)]
enum Act {
    /// Reads one request, whole.
    Read,
    /// Writes these bytes.
    Write(Vec<u8>),
    Wait(Duration),
    /// Does nothing until the other side closes.
    Hold,
}

impl Act {
    fn write(bytes: impl AsRef<[u8]>) -> Self {
        Self::Write(bytes.as_ref().to_vec())
    }

    /// Reads a request and answers it.
    fn answer(headers: &str, body: &str) -> [Self; 2] {
        [Self::Read, Self::write(answer(headers, body))]
    }
}

async fn act(mut stream: DuplexStream, acts: Vec<Act>) {
    for act in acts {
        let went_on = match act {
            Act::Read => read_request(&mut stream).await,
            Act::Write(bytes) => stream.write_all(&bytes).await.is_ok(),
            Act::Wait(duration) => {
                sleep(duration).await;
                true
            }
            Act::Hold => {
                // Whatever still comes; the end of it is what is waited for.
                drop(stream.read_to_end(&mut Vec::new()).await);
                false
            }
        };
        if !went_on {
            return;
        }
    }
}

/// Reads until the question has come; `false` if the other side closes before.
async fn read_request(stream: &mut DuplexStream) -> bool {
    let mut read = Vec::new();
    while !read.ends_with(QUESTION.as_bytes()) {
        match stream.read_buf(&mut read).await {
            Ok(0) | Err(_) => return false,
            Ok(_) => {}
        }
    }
    true
}

/// Dials servers in memory, each of which acts as told, the last one again and again.
struct Servers {
    acts: Mutex<VecDeque<Vec<Act>>>,
    takes: Duration,
    dialled: AtomicUsize,
    open: Arc<AtomicI64>,
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Servers")
    }
}

impl Servers {
    fn new<A: IntoIterator<Item = Act>>(acts: impl IntoIterator<Item = A>) -> Self {
        let acts = acts.into_iter().map(|acts| acts.into_iter().collect());
        Self {
            acts: Mutex::new(acts.collect()),
            takes: Duration::ZERO,
            dialled: AtomicUsize::new(0),
            open: Arc::default(),
        }
    }

    fn next(&self) -> Vec<Act> {
        let mut acts = self.acts.lock().unwrap_or_else(PoisonError::into_inner);
        match acts.len() {
            1 => acts.front().cloned(),
            _ => acts.pop_front(),
        }
        .unwrap_or_default()
    }

    fn dialled(&self) -> usize {
        self.dialled.load(Ordering::SeqCst)
    }
}

impl Dial for Servers {
    fn dial(&self) -> BoxFuture<'_, Result<Box<dyn Stream>, Undialled>> {
        Box::pin(async {
            sleep(self.takes).await;
            self.dialled.fetch_add(1, Ordering::SeqCst);
            let (ours, theirs) = duplex(64 * 1024);
            let (acts, open) = (self.next(), Arc::clone(&self.open));
            open.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                act(theirs, acts).await;
                open.fetch_sub(1, Ordering::SeqCst);
            });
            let ours: Box<dyn Stream> = Box::new(ours);
            Ok(ours)
        })
    }
}

/// Counts connections in use, and waits for them.
#[derive(Debug, Default)]
struct Counts {
    active: AtomicI64,
    waits: AtomicUsize,
}

impl Observe for Counts {
    fn request_done(&self, _: &CallDone<'_>) {}
    fn retried(&self, _: &ModelName, _: &'static str) {}
    fn failed_over(&self, _: &ModelName, _: &'static str) {}
    fn validated(&self, _: Validation) {}
    fn circuit(&self, _: &CircuitName, _: BreakerState) {}

    fn connection_waited(&self, _: &str, _: Duration) {
        self.waits.fetch_add(1, Ordering::SeqCst);
    }

    fn connection_acquired(&self, _: &str) {
        self.active.fetch_add(1, Ordering::SeqCst);
    }

    fn connection_released(&self, _: &str) {
        self.active.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Counts {
    fn active(&self) -> i64 {
        self.active.load(Ordering::SeqCst)
    }
}

/// A pool of one host, and the servers behind it.
struct Client {
    pool: HostPool,
    servers: Servers,
    limits: Limits,
    counts: Arc<Counts>,
}

impl Client {
    fn of(servers: Servers) -> Self {
        Self::with(PoolRules::default(), servers)
    }

    fn with(rules: PoolRules, servers: Servers) -> Self {
        let counts = Arc::<Counts>::default();
        let pool = Pool::new("openai", rules, Arc::<Counts>::clone(&counts));
        Self {
            pool: pool.host(Origin::new("http://model.test")),
            servers,
            limits: LIMITS,
            counts,
        }
    }

    /// One server that acts so, again and again.
    fn to(acts: impl IntoIterator<Item = Act>) -> Self {
        Self::of(Servers::new(iter::once(acts)))
    }

    async fn head(&self) -> Result<Answered, Fault> {
        let permit = self.pool.acquire(self.limits.request).await?;
        let mut request = Request::new(Full::new(Bytes::from_static(QUESTION.as_bytes())));
        *request.method_mut() = hyper::Method::POST;
        let rules = *self.pool.rules();
        exchange(request, permit, &self.servers, &rules, &self.limits).await
    }

    /// The body of the answer to one question.
    async fn ask(&self) -> Result<Vec<u8>, Fault> {
        let answered = self.head().await?;
        assert_eq!(answered.head.status, StatusCode::OK);
        answered.body.whole().await
    }

    #[track_caller]
    fn assert_nothing_is_held(&self) {
        assert_eq!(self.counts.active(), 0, "connections in use");
        let rules = self.pool.rules();
        let full = (rules.connections.get(), rules.connections_per_host.get());
        assert_eq!(self.pool.free(), full, "permits, in all and of the host");
    }
}
