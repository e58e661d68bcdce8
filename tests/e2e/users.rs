//! The users of NATS that the project ships: each does its work, and no more.

use async_nats::{Client, Event};
use serde_json::json;
use tokio::sync::mpsc;

use crate::{
    fleet::Fleet,
    patience::within,
    support::{Servers, users},
    wire::{Wire, json_of, request},
};

const CLERK: (&str, &str) = ("clerk", "[model]\nprovider = \"simulated\"");
const TELLER: (&str, &str) = ("teller", "stream = true\n[model]\nprovider = \"simulated\"");

/// A fleet whose processes log in as this user.
async fn fleet(users: &str) -> Fleet {
    let servers = Servers::start_with(Some(users)).await;
    as_user(Fleet::of_these(&[CLERK, TELLER], servers), "worker")
}

fn as_user(fleet: Fleet, user: &str) -> Fleet {
    fleet
        .with("PURUTO_NATS__USER", user)
        .with("PURUTO_NATS__PASSWORD", user)
        .with("PURUTO_NATS__INBOX", user)
}

/// A client of a user, and what the server denies it.
struct Tried {
    client: Client,
    denied: mpsc::UnboundedReceiver<String>,
}

impl Tried {
    async fn user(user: &str, fleet: &Fleet) -> Self {
        let (sender, denied) = mpsc::unbounded_channel();
        let options = users::login(user).event_callback(move |event| {
            let sender = sender.clone();
            async move {
                if let Event::ServerError(error) = event {
                    sender.send(error.to_string()).ok();
                }
            }
        });
        let client = options
            .connect(fleet.servers.nats.url())
            .await
            .expect("a connection");
        Self { client, denied }
    }

    /// That the last thing tried was denied.
    async fn is_denied(&mut self, subject: &str) {
        let words = within(&format!("{subject} is denied"), self.denied.recv()).await;
        let words = words.expect("the server's words");
        assert!(
            words.contains("ermissions") && words.contains(subject),
            "{words}"
        );
    }

    async fn publish_denied(&mut self, subject: &str, body: &str) {
        let sent = self
            .client
            .publish(subject.to_owned(), body.to_owned().into());
        sent.await.expect("sent");
        self.is_denied(subject).await;
    }

    async fn subscribe_denied(&mut self, subject: &str) {
        let heard = self.client.subscribe(subject.to_owned()).await;
        heard.expect("sent");
        self.is_denied(subject).await;
    }
}

#[tokio::test]
async fn a_caller_gets_its_own_results_and_cannot_read_those_of_others() {
    let fleet = fleet(&users::shipped()).await;
    let _worker = fleet.worker("w1").await;
    let fleet = as_user(fleet, "alice");

    let chain = [
        "invoke",
        "--correlation-id",
        "alice",
        "clerk",
        "do",
        "Hello",
    ];
    let answered = fleet.puruto(&chain).await;
    assert_eq!(answered.code, 0, "{answered:?}");
    let nats = fleet.servers.nats.url();
    let operator = Wire::connect_with(users::login("operator"), &nats).await;
    let others = request("secret", "clerk", "Hello");
    operator.ask(&others).await;
    let result = operator.result(&others).await;
    assert_eq!(json_of(&result.payload)["status"], "ok");

    let mut alice = Tried::user("alice", &fleet).await;
    alice.subscribe_denied("puruto.result.>").await;
    alice.subscribe_denied("puruto.result.*.secret").await;
    alice.subscribe_denied("puruto.invoke.>").await;
    alice.subscribe_denied("_INBOX.>").await;
    let first = json!({"seq": 1}).to_string();
    let consumer = json!({"stream_name": "PURUTO_INVOKE", "config": {"durable_name": "spy"}});
    for (subject, body) in [
        (
            "$JS.API.CONSUMER.CREATE.PURUTO_INVOKE.spy",
            consumer.to_string(),
        ),
        (
            "$JS.API.CONSUMER.DURABLE.CREATE.PURUTO_INVOKE.spy",
            consumer.to_string(),
        ),
        (
            "$JS.API.CONSUMER.MSG.NEXT.PURUTO_INVOKE.clerk",
            String::new(),
        ),
        ("$JS.API.STREAM.MSG.GET.PURUTO_INVOKE", first.clone()),
        ("$JS.API.STREAM.MSG.GET.PURUTO_RESULTS", first.clone()),
        ("$JS.API.DIRECT.GET.PURUTO_RESULTS", first.clone()),
        (
            "$JS.API.DIRECT.GET.PURUTO_RESULTS.puruto.result.chain-secret.secret",
            String::new(),
        ),
        (
            "$JS.API.DIRECT.GET.PURUTO_RESULTS.puruto.result.*.secret",
            String::new(),
        ),
        ("$JS.ACK.PURUTO_INVOKE.clerk.1.1.1.1.0", "+ACK".to_owned()),
        ("puruto.result.alice.forged", "{}".to_owned()),
    ] {
        alice.publish_denied(subject, &body).await;
    }
}

#[tokio::test]
async fn a_caller_hears_its_own_answers_while_they_are_written_and_no_others() {
    let fleet = fleet(&users::shipped()).await;
    let _worker = fleet.worker("w1").await;
    let fleet = as_user(fleet, "alice");

    let words = "invoke --stream --correlation-id alice teller do Hello";
    let words: Vec<&str> = words.split(' ').collect();
    let heard = fleet.puruto(&words).await;

    assert_eq!(heard.code, 0, "{heard:?}");
    let first = r#"{"index":0,"content":"Hello"}"#;
    assert!(heard.output.starts_with(first), "{heard:?}");
    let mut alice = Tried::user("alice", &fleet).await;
    alice.subscribe_denied("puruto.token.>").await;
    alice
        .publish_denied("puruto.token.alice.forged", "{}")
        .await;
}

#[tokio::test]
async fn a_worker_that_may_not_acknowledge_ends_at_once_and_names_the_subject() {
    let fleet = fleet(&users::shipped_without("$JS.ACK.PURUTO_INVOKE.>")).await;
    let mut worker = fleet.launch("w1").await;
    let status = worker.ended().await;
    assert_eq!(status.code(), Some(1));
    let log = worker.log();
    assert!(
        log.contains("publish to $JS.ACK.PURUTO_INVOKE.clerk"),
        "{log}"
    );
}
