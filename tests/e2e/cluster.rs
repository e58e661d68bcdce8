//! Three NATS servers that are one cluster.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Stdio,
};

use async_nats::jetstream::{self, Context, stream::ClusterInfo};
use futures_util::TryStreamExt as _;
use puruto_fleet::{
    clock::Chance,
    dev::{self, port::Port, process::Process, tool::Tool},
};

use crate::{
    patience::until,
    support::{guard, places, say},
    wire::INVOKE,
};

/// Two of them agree without the third.
const SERVERS: usize = 3;

/// They end when dropped.
#[derive(Debug)]
pub(crate) struct Cluster {
    program: PathBuf,
    nodes: Vec<Node>,
}

/// One server, or the place of one that was killed.
#[derive(Debug)]
struct Node {
    name: String,
    clients: Port,
    routes: Port,
    folder: PathBuf,
    process: Option<Process>,
}

impl Cluster {
    /// Starts it with its data under `folder`, and waits until it stores what is published.
    pub(crate) async fn start(folder: &Path) -> Self {
        let found = dev::obtain(Tool::Nats, &places(), &say).await;
        let chance = Chance::system();
        let node = |number: usize| Node {
            name: format!("n{number}"),
            clients: Port::free(&chance).expect("a port"),
            routes: Port::free(&chance).expect("a port"),
            folder: folder.join(format!("cluster-{number}")),
            process: None,
        };
        let mut this = Self {
            program: found.expect("a program").program,
            nodes: (0..SERVERS).map(node).collect(),
        };
        for number in 0..SERVERS {
            this.begin(number).await;
        }
        until("the cluster has a leader", async || {
            let jetstream = this.jetstream().await?;
            jetstream.query_account().await.ok().map(drop)
        })
        .await;
        this
    }

    /// Where clients connect: to any of them.
    pub(crate) fn url(&self) -> String {
        let address = |node: &Node| format!("nats://{}", node.clients.address());
        self.nodes.iter().map(address).collect::<Vec<_>>().join(",")
    }

    /// Kills the server that leads the stream of requests; which one that was.
    pub(crate) async fn kill_leader(&mut self) -> usize {
        let name = until("the stream of requests has a leader", async || {
            self.placed(INVOKE).await?.leader
        })
        .await;
        let node = self.nodes.iter_mut().position(|node| node.name == name);
        let number = node.expect("one of ours");
        let mut process = self.nodes[number].process.take().expect("it runs");
        process.kill().await.expect("killed");
        number
    }

    /// Starts the one that was killed again, and waits until it has all that it missed.
    pub(crate) async fn restart(&mut self, number: usize) {
        self.begin(number).await;
        self.until_each_stream_is_on_all().await;
    }

    /// Waits until every stream and every consumer stands, up to date, on every server.
    pub(crate) async fn until_each_stream_is_on_all(&self) {
        until("everything stands on every server", async || {
            let jetstream = self.jetstream().await?;
            let names: Vec<String> = jetstream.stream_names().try_collect().await.ok()?;
            for name in &names {
                let stream = jetstream.get_stream(name).await.ok()?;
                is_on_all(stream.cached_info().cluster.as_ref()?)?;
                let mut consumers = stream.consumers();
                while let Some(consumer) = consumers.try_next().await.ok()? {
                    is_on_all(consumer.cluster.as_ref()?)?;
                }
            }
            (!names.is_empty()).then_some(())
        })
        .await;
    }

    async fn placed(&self, stream: &str) -> Option<ClusterInfo> {
        let stream = self.jetstream().await?.get_stream(stream).await.ok()?;
        stream.cached_info().cluster.clone()
    }

    async fn jetstream(&self) -> Option<Context> {
        let addresses: Vec<_> = self.url().split(',').map(str::to_owned).collect();
        let client = async_nats::connect(addresses).await.ok()?;
        Some(jetstream::new(client))
    }

    async fn begin(&mut self, number: usize) {
        let routes: Vec<_> = self.nodes.iter().map(Node::route).collect();
        let node = &mut self.nodes[number];
        fs::create_dir_all(&node.folder).expect("a folder");
        let mut log = File::options();
        let log = log.create(true).append(true);
        let log = log.open(node.folder.join("nats.log")).expect("its log");
        let mut command = guard().command(&self.program);
        command
            .args(["--addr", "127.0.0.1", "--name", &node.name, "--jetstream"])
            .args(["--port", &node.clients.to_string()])
            .arg("--store_dir")
            .arg(&node.folder)
            .args(["--cluster_name", "fleet", "--cluster", &node.route()])
            .args(["--routes", &routes.join(",")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        node.process = Some(Process::spawn(command).await.expect("a server"));
    }
}

impl Node {
    fn route(&self) -> String {
        format!("nats://{}", self.routes.address())
    }
}

/// Whether there are as many up to date as there are servers; the leader is not in the list.
fn is_on_all(placed: &ClusterInfo) -> Option<()> {
    placed.leader.as_ref()?;
    let current = placed
        .replicas
        .iter()
        .filter(|it| it.current && !it.offline);
    (current.count() == SERVERS - 1).then_some(())
}
