//! Stands where a server was: turns everybody away and counts them, or answers all with the same.

use std::{
    net::SocketAddrV4,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// Who stands there until it leaves or is dropped.
#[derive(Debug)]
pub(crate) struct Doorman {
    came: Arc<AtomicUsize>,
    standing: JoinSet<()>,
}

impl Doorman {
    /// Turns everybody away from a place that was a server's.
    pub(crate) async fn at(address: SocketAddrV4) -> Self {
        Self::stand(address, None).await
    }

    /// Answers every command of Redis with the same line.
    pub(crate) async fn who_answers(address: SocketAddrV4, line: &'static str) -> Self {
        Self::stand(address, Some(line)).await
    }

    async fn stand(address: SocketAddrV4, line: Option<&'static str>) -> Self {
        let listener = TcpListener::bind(address).await.expect("a free place");
        let came = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&came);
        let mut standing = JoinSet::new();
        standing.spawn(async move {
            let mut visits = JoinSet::new();
            while let Ok((visitor, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                if let Some(line) = line {
                    visits.spawn(answer(visitor, line));
                }
            }
        });
        Self { came, standing }
    }

    /// Leaves the place, which is free when this returns.
    pub(crate) async fn leave(mut self) {
        self.standing.shutdown().await;
    }

    /// How many came.
    pub(crate) fn came(&self) -> usize {
        self.came.load(Ordering::Relaxed)
    }
}

/// A command begins with a star at the start of a line; no script of ours has one there.
async fn answer(mut visitor: TcpStream, line: &str) {
    let mut read = Vec::with_capacity(64 * 1024);
    while let Ok(1..) = visitor.read_buf(&mut read).await {
        let lines = read.split(|byte| *byte == b'\n');
        let commands = lines.filter(|line| line.first() == Some(&b'*')).count();
        read.clear();
        let answers = line.repeat(commands);
        if visitor.write_all(answers.as_bytes()).await.is_err() {
            return;
        }
    }
}
