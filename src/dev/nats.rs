//! How a local `nats-server` is started, and how one tells that it is up.

use std::{
    io::{self, Error},
    process::Command,
};

use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    net::TcpStream,
};

use super::{port::Port, server::Launch};

/// The greeting of a server is shorter than this, in bytes.
const INFO_CAP: u64 = 64 * 1024;

/// Adds the arguments: loopback only, with JetStream in the data folder.
pub(super) fn add_arguments(command: &mut Command, launch: &Launch, port: Port, name: &str) {
    if let Some(settings) = &launch.settings {
        command.arg("--config").arg(settings);
    }
    command
        .args(["--addr", &port.address().ip().to_string()])
        .args(["--port", &port.to_string()])
        .args(["--name", name])
        .arg("--jetstream")
        .arg("--store_dir")
        .arg(&launch.data);
}

#[derive(Deserialize)]
struct Info {
    server_name: String,
}

/// Whether the server on `port` is up and is the one called `name`.
pub(super) async fn answers(port: Port, name: &str) -> io::Result<bool> {
    let stream = TcpStream::connect(port.address()).await?;
    let mut line = String::new();
    BufReader::new(stream.take(INFO_CAP))
        .read_line(&mut line)
        .await?;
    let json = line
        .strip_prefix("INFO ")
        .ok_or_else(|| Error::other("what listens there is no nats-server"))?;
    let info: Info = serde_json::from_str(json)?;
    Ok(info.server_name == name)
}
