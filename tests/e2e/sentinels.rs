//! A replica of a fleet's Redis, and the three Sentinels that watch over both.

use std::{fs, path::Path, process::Stdio};

use puruto_fleet::{
    clock::Chance,
    dev::{self, port::Port, process::Process, server::Server, tool::Tool},
};
use redis::{FromRedisValue, aio::MultiplexedConnection};

use crate::{
    patience::until,
    support::{guard, places, say, start},
};

/// What the Sentinels call their master.
const MASTER: &str = "main";
/// What they ask of whoever asks them.
pub(crate) const PASSWORD: &str = "watch-7f3a";
/// Two of them must agree that it is gone.
const SENTINELS: u64 = 3;

/// They end when dropped.
#[derive(Debug)]
pub(crate) struct Sentinels {
    pub(crate) replica: Server,
    ports: Vec<Port>,
    _processes: Vec<Process>,
}

impl Sentinels {
    /// Gives `master` a replica and has both watched.
    pub(crate) async fn over(master: &Server, folder: &Path) -> Self {
        let replica = start(Tool::Redis, &folder.join("replica")).await;
        let port = master.port().to_string();
        let () = ask(replica.port(), &["REPLICAOF", "127.0.0.1", &port]).await;
        until("the replica has what the master has", async || {
            let replication: String = ask(replica.port(), &["INFO", "replication"]).await;
            replication.contains("master_link_status:up").then_some(())
        })
        .await;
        let chance = Chance::system();
        let mut ports = Vec::new();
        let mut processes = Vec::new();
        for number in 0..SENTINELS {
            let port = Port::free(&chance).expect("a port");
            let folder = folder.join(format!("sentinel-{number}"));
            processes.push(begin(port, master.port(), &folder).await);
            ports.push(port);
        }
        let this = Self {
            replica,
            ports,
            _processes: processes,
        };
        this.until_they_know_each_other().await;
        this
    }

    /// Where a worker is told to look for the master.
    pub(crate) fn url(&self) -> String {
        let address = |port: &Port| port.address().to_string();
        let all: Vec<_> = self.ports.iter().map(address).collect();
        format!("redis+sentinel://{}/{MASTER}", all.join(","))
    }

    /// Waits until all of them take the replica for the master.
    pub(crate) async fn until_failed_over(&self) {
        let wanted = self.replica.port().to_string();
        for port in &self.ports {
            until("the sentinels name the new master", async || {
                (watched(*port, "port").await? == wanted).then_some(())
            })
            .await;
        }
    }

    async fn until_they_know_each_other(&self) {
        for port in &self.ports {
            until(
                "the sentinels know each other and the replica",
                async || {
                    let others = watched(*port, "num-other-sentinels").await?;
                    let replicas = watched(*port, "num-slaves").await?;
                    (others == (SENTINELS - 1).to_string() && replicas == "1").then_some(())
                },
            )
            .await;
        }
    }
}

async fn begin(port: Port, master: Port, folder: &Path) -> Process {
    fs::create_dir_all(folder).expect("a folder");
    // They write what they learn into it.
    let file = folder.join("sentinel.conf");
    let text = format!(
        "port {port}\nbind 127.0.0.1\nprotected-mode no\ndir {dir}\nlogfile {dir}/sentinel.log\n\
         requirepass {PASSWORD}\n\
         sentinel monitor {MASTER} 127.0.0.1 {master} 2\n\
         sentinel down-after-milliseconds {MASTER} 2000\n\
         sentinel failover-timeout {MASTER} 6000\n",
        dir = folder.display(),
    );
    fs::write(&file, text).expect("a file");
    let found = dev::obtain(Tool::Redis, &places(), &say).await;
    let mut command = guard().command(&found.expect("a program").program);
    command.arg(file).arg("--sentinel");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Process::spawn(command).await.expect("a sentinel")
}

/// What a Sentinel knows of the master; nothing while it does not answer.
async fn watched(sentinel: Port, field: &str) -> Option<String> {
    let mut connection = connect(&format!(":{PASSWORD}@{}", sentinel.address())).await?;
    let mut question = redis::cmd("SENTINEL");
    question.arg("MASTER").arg(MASTER);
    let fields: Vec<String> = question.query_async(&mut connection).await.ok()?;
    let pairs = fields.chunks_exact(2);
    pairs
        .filter(|pair| pair[0] == field)
        .map(|pair| pair[1].clone())
        .next()
}

/// Asks a Redis server until it answers: one that changes its role hangs up on its clients.
pub(crate) async fn ask<T: FromRedisValue>(server: Port, words: &[&str]) -> T {
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    until("redis answers", async || {
        let mut connection = connect(&server.address().to_string()).await?;
        command.query_async(&mut connection).await.ok()
    })
    .await
}

async fn connect(place: &str) -> Option<MultiplexedConnection> {
    let client = redis::Client::open(format!("redis://{place}")).ok()?;
    client.get_multiplexed_async_connection().await.ok()
}
