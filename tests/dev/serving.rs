//! Real servers: up when started, their data kept, gone when dropped.

use std::{fs, net::TcpListener, path::Path};

use async_nats::jetstream;
use puruto_fleet::{
    clock::Chance,
    dev::{
        self,
        error::DevError,
        port::{Port, PortChoice},
        redis::Fsync,
        server::{Launch, Server},
        tool::Tool,
    },
};
use redis::AsyncCommands as _;
use tempfile::TempDir;

use crate::{
    fakes::Machine,
    support::{self, Servers},
};

const SUBJECT: &str = "kept.subject";

async fn jetstream(servers: &Servers) -> jetstream::Context {
    let client = async_nats::connect(servers.nats.url()).await;
    jetstream::new(client.expect("a connection"))
}

async fn redis(servers: &Servers) -> redis::aio::MultiplexedConnection {
    let client = redis::Client::open(servers.redis.url()).expect("a valid address");
    let connection = client.get_multiplexed_async_connection().await;
    connection.expect("a connection")
}

/// Puts a message in a stream and a value under a key.
async fn remember(servers: &Servers, text: &str) {
    let jetstream = jetstream(servers).await;
    let config = jetstream::stream::Config {
        name: "KEPT".to_owned(),
        subjects: vec![SUBJECT.to_owned()],
        ..Default::default()
    };
    jetstream.create_stream(config).await.expect("a stream");
    let published = jetstream.publish(SUBJECT, text.to_owned().into()).await;
    published.expect("published").await.expect("stored");
    let () = redis(servers).await.set("kept", text).await.expect("set");
}

/// The message and the value, read over new connections.
async fn recall(servers: &Servers) -> (String, String) {
    let stream = jetstream(servers).await.get_stream("KEPT").await;
    let message = stream
        .expect("the stream")
        .get_last_raw_message_by_subject(SUBJECT)
        .await;
    let payload = message.expect("the message").payload.to_vec();
    let message = String::from_utf8(payload).expect("text");
    let value = redis(servers).await.get("kept").await.expect("the value");
    (message, value)
}

#[tokio::test]
async fn a_server_keeps_its_data_and_its_port_over_stop_and_restart() {
    let mut servers = Servers::start().await;
    remember(&servers, "stopped").await;
    let urls = (servers.nats.url(), servers.redis.url());

    servers.nats.stop().await.expect("stopped");
    servers.redis.stop().await.expect("stopped");
    assert_eq!((servers.nats.pid(), servers.redis.pid()), (None, None));
    servers.nats.restart().await.expect("up again");
    servers.redis.restart().await.expect("up again");

    assert_eq!(recall(&servers).await, ("stopped".into(), "stopped".into()));
    assert_eq!((servers.nats.url(), servers.redis.url()), urls);
}

#[tokio::test]
async fn a_server_keeps_its_data_over_kill_and_restart() {
    let mut servers = Servers::start().await;
    remember(&servers, "killed").await;

    servers.nats.kill().await.expect("killed");
    servers.redis.kill().await.expect("killed");
    servers.nats.restart().await.expect("up again");
    servers.redis.restart().await.expect("up again");

    assert_eq!(recall(&servers).await, ("killed".into(), "killed".into()));
}

#[tokio::test]
async fn two_pairs_of_servers_know_nothing_of_each_other() {
    let (one, other) = tokio::join!(Servers::start(), Servers::start());
    remember(&one, "one").await;
    remember(&other, "other").await;
    assert_eq!(recall(&one).await, ("one".into(), "one".into()));
    assert_eq!(recall(&other).await, ("other".into(), "other".into()));
}

#[tokio::test]
async fn a_dropped_server_is_gone_at_once() {
    let servers = Servers::start().await;
    let ports = [servers.nats.port(), servers.redis.port()];
    let folder = servers.folder().to_owned();

    drop(servers);

    for port in ports {
        assert!(
            TcpListener::bind(port.address()).is_ok(),
            "{port} is in use"
        );
    }
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_paused_server_still_ends_in_good_order_when_stopped() {
    let folder = TempDir::new().expect("a temporary folder");
    let mut redis = support::start(Tool::Redis, folder.path()).await;

    redis.pause().expect("paused");
    redis.stop().await.expect("stopped");

    let log = fs::read_to_string(redis.log()).expect("a log");
    assert!(log.contains("Redis is now ready to exit"), "{log}");
}

#[tokio::test]
async fn a_stranger_on_its_port_is_not_taken_for_the_server() {
    for tool in [Tool::Nats, Tool::Redis] {
        let folder = TempDir::new().expect("a temporary folder");
        let mut ours = support::start(tool, &folder.path().join("ours")).await;
        ours.stop().await.expect("stopped");
        let stranger = launch(tool, &folder.path().join("stranger"), ours.port()).await;
        let _stranger = Server::start(stranger, &Chance::system())
            .await
            .expect("up");

        let error = ours.restart().await.expect_err("taken");

        assert!(matches!(error, DevError::NotReady { .. }), "{error}");
        let error = error.to_string().to_lowercase();
        assert!(error.contains("address already in use"), "{error}");
    }
}

#[tokio::test]
async fn an_exact_port_that_is_in_use_is_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = Port::new(taken.local_addr().expect("an address").port());
    let folder = TempDir::new().expect("a temporary folder");
    let launch = launch(Tool::Nats, folder.path(), port).await;

    let error = Server::start(launch, &Chance::system()).await;

    assert!(
        matches!(error, Err(DevError::PortTaken { .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_server_that_does_not_come_up_shows_its_last_words() {
    let machine = Machine::new();
    let launch = Launch {
        tool: Tool::Nats,
        program: machine.own("nats-server", "echo 'no space left on device'; exit 3"),
        data: machine.folder("data"),
        settings: None,
        fsync: Fsync::EverySecond,
        port: PortChoice::Free,
        guard: support::guard(),
    };

    let started = Server::start(launch, &Chance::system()).await;

    let error = started.expect_err("it ends at once").to_string();
    assert!(error.contains("it ended with exit status: 3"), "{error}");
    assert!(error.ends_with("no space left on device"), "{error}");
}

async fn launch(tool: Tool, data: &Path, port: Port) -> Launch {
    let found = dev::obtain(tool, &support::places(), &|_: &str| {}).await;
    Launch {
        tool,
        program: found.expect("a program").program,
        data: data.to_owned(),
        settings: None,
        fsync: Fsync::EverySecond,
        port: PortChoice::Exactly(port),
        guard: support::guard(),
    }
}
