//! How a local `redis-server` is started, and how one tells that it is up.

use std::{io, process::Command};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    net::TcpStream,
};

use super::{port::Port, server::Launch};

/// The answers to our two questions are shorter than this, in bytes.
const ANSWER_CAP: u64 = 64 * 1024;

/// How Redis has what it wrote put on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fsync {
    /// Each second, as a fleet is run. While the disk is busy Redis puts off writing for up to two
    /// seconds, so that even a kill costs what it had already answered.
    EverySecond,
    /// When the kernel likes. All is written before it is answered: a kill costs nothing, a power
    /// cut what the kernel still held.
    Never,
}

impl Fsync {
    const fn setting(self) -> &'static str {
        match self {
            Self::EverySecond => "everysec",
            Self::Never => "no",
        }
    }
}

/// Adds the arguments: loopback only, every write in the append-only file, never evicting a key.
pub(super) fn add_arguments(command: &mut Command, launch: &Launch, port: Port) {
    command.args(&launch.settings);
    command
        .args(["--bind", &port.address().ip().to_string()])
        .args(["--port", &port.to_string()])
        .arg("--dir")
        .arg(&launch.data)
        .args(["--appendonly", "yes"])
        .args(["--appendfsync", launch.fsync.setting()])
        .args(["--save", ""])
        .args(["--maxmemory-policy", "noeviction"])
        // It listens on the loopback address alone.
        .args(["--protected-mode", "no"])
        .args(["--daemonize", "no"]);
}

/// Whether the server on `port` is up, has its data loaded, and is process `pid`.
pub(super) async fn answers(port: Port, pid: u32) -> io::Result<bool> {
    let mut stream = TcpStream::connect(port.address()).await?;
    stream.write_all(b"PING\r\nINFO server\r\n").await?;
    let mut lines = BufReader::new(stream.take(ANSWER_CAP)).lines();
    // While it loads its data the answer is `-LOADING ...`.
    if lines.next_line().await?.as_deref() != Some("+PONG") {
        return Ok(false);
    }
    Ok(process_id(lines).await? == Some(pid))
}

async fn process_id<R>(mut lines: Lines<R>) -> io::Result<Option<u32>>
where
    R: tokio::io::AsyncBufRead + Unpin,
{
    while let Some(line) = lines.next_line().await? {
        if let Some(pid) = line.strip_prefix("process_id:") {
            return Ok(pid.trim().parse().ok());
        }
    }
    Ok(None)
}
