//! Messages that no client can read, among requests: they are kept as dead letters and removed, and
//! nobody else notices.

use puruto_fleet::contract::{Lane, Subjects};

use crate::{
    fleet::Fleet,
    patience::until,
    support::raw,
    wire::{DEAD_LETTERS, Wire, header, json_of, place_of, request},
    worker::Worker,
};

const ECHO: (&str, &str) = (
    "echo",
    "concurrency = 8\n[model]\nprovider = \"simulated\"\nlatency = \"20ms\"",
);
const SUBJECT: &str = "puruto.invoke.echo";

/// Longer than these tests wait for anything: what waits for it fails them.
const ACK_WAIT: (&str, &str) = ("PURUTO_NATS__ACK_WAIT", "2m");

/// Each breaks the client library in a way of its own.
const HEADER_BLOCKS: [&[u8]; 5] = [
    b"NATS/1.0\r\nX: a\rb\r\n\r\n",
    b"NATS/1.0\r\nX: \xff\xfe\r\n\r\n",
    b"NATS/1.0\r\nno colon\r\n\r\n",
    b"NATS/1.0\r\na name: b\r\n\r\n",
    b"NATS/9.9\r\nA: b\r\n\r\n",
];

/// Bodies in which there is no request.
const BODIES: [&[u8]; 7] = [
    b"",
    b"\xff\xfe",
    br#"{"request_id":"#,
    b"[]",
    b"null",
    b"NaN",
    b"\xef\xbb\xbf{}",
];

/// How many dead letters the workers say that they wrote.
async fn buried(workers: &[Worker], reason: &str) -> u64 {
    let series = format!("puruto_dead_letters_total{{reason=\"{reason}\"}}");
    let mut buried = 0;
    for worker in workers {
        buried += worker.count(&series).await;
    }
    buried
}

/// The sequences of the dead messages, in order.
async fn dead(wire: &Wire, reason: &str) -> Vec<u64> {
    let letters = wire.all(DEAD_LETTERS).await;
    let of_reason = letters
        .iter()
        .filter(|it| header(&it.headers, "Puruto-Dead-Reason") == Some(reason));
    let sequence = of_reason.map(|it| header(&it.headers, "Puruto-Dead-Sequence"));
    let mut all: Vec<u64> = sequence
        .map(|it| it.and_then(|it| it.parse().ok()).expect("a sequence"))
        .collect();
    all.sort_unstable();
    all
}

#[tokio::test]
async fn messages_that_no_client_can_read_are_buried_at_once_and_nobody_else_notices() {
    let fleet = Fleet::of(&[ECHO]).await.with(ACK_WAIT.0, ACK_WAIT.1);
    let workers = [fleet.worker("one").await, fleet.worker("two").await];
    let pids = [workers[0].pid(), workers[1].pid()];
    let wire = fleet.wire().await;
    let (mut requests, mut hostile) = (Vec::new(), Vec::new());
    for (round, header_block) in HEADER_BLOCKS.into_iter().cycle().take(15).enumerate() {
        raw::publish(&fleet.servers.nats, SUBJECT.as_bytes(), header_block, b"{}");
        for it in 0..10 {
            let request = request(&format!("r-{round}-{it}"), "echo", "Hello");
            let sequence = wire.ask(&request).await;
            if it == 0 {
                hostile.push(sequence - 1);
            }
            requests.push(request);
        }
    }
    for request in &requests {
        let result = wire.result(request).await;
        assert_eq!(json_of(&result.payload)["status"], "ok");
    }
    wire.until_all_is_done().await;
    assert_eq!(dead(&wire, "unreadable").await, hostile);
    let counted = until("every dead letter is counted", async || {
        let counted = buried(&workers, "unreadable").await;
        (counted >= hostile.len() as u64).then_some(counted)
    });
    assert_eq!(counted.await, hostile.len() as u64);
    assert_eq!([workers[0].pid(), workers[1].pid()], pids);
    for worker in &workers {
        assert!(worker.is_ready().await, "{}", worker.name());
    }
}

#[tokio::test]
async fn a_result_whose_place_holds_what_no_client_can_read_stands_aside() {
    let fleet = Fleet::of(&[ECHO]).await.with(ACK_WAIT.0, ACK_WAIT.1);
    let worker = fleet.worker("one").await;
    let wire = fleet.wire().await;
    for (round, header_block) in HEADER_BLOCKS.into_iter().enumerate() {
        let request = request(&format!("r-{round}"), "echo", "Hello");
        let place = place_of(&request);
        raw::publish(&fleet.servers.nats, place.as_bytes(), header_block, b"{}");
        wire.ask(&request).await;
        let aside = until("the result stands aside", async || {
            wire.stored(&format!("{place}.*")).await
        });
        assert_eq!(json_of(&aside.await.payload)["status"], "ok");
    }
    wire.until_all_is_done().await;
    let incidents = "puruto_broker_incidents_total";
    let counted = |kind: &str| format!("{incidents}{{kind=\"{kind}\"}}");
    assert!(worker.count(&counted("unreadable_result")).await >= 5);
    for broken in ["rebuilt", "disconnected"] {
        assert_eq!(worker.counted(&counted(broken)).await.unwrap_or(0), 0);
    }
    assert!(worker.is_ready().await);
}

#[tokio::test]
async fn a_caller_is_answered_although_it_cannot_read_what_stands_in_the_place() {
    let fleet = Fleet::of(&[ECHO]).await;
    let _worker = fleet.worker("one").await;
    for (round, header_block) in HEADER_BLOCKS.into_iter().take(2).enumerate() {
        let id = format!("r-{round}");
        let place = place_of(&request(&id, "echo", "Hello"));
        raw::publish(&fleet.servers.nats, place.as_bytes(), header_block, b"{}");
        let chain = format!("chain-{id}");
        let ids = ["--request-id", &id, "--correlation-id", &chain];
        let asked = [&["invoke"], &ids[..], &["echo", "do", "Hello"]].concat();
        let answered = fleet.puruto(&asked).await;
        assert_eq!(answered.code, 0, "{answered:?}");
    }
}

#[tokio::test]
async fn a_message_without_a_request_in_it_is_answered_and_kept_as_a_dead_letter() {
    let fleet = Fleet::of(&[ECHO]).await.with(ACK_WAIT.0, ACK_WAIT.1);
    let worker = [fleet.worker("one").await];
    let wire = fleet.wire().await;
    let mut heard = wire.listen(&Subjects::default().results_all()).await;
    let target = "echo".parse().expect("a name");
    let subject = Subjects::default().invoke(&target, Lane::High);
    let mut malformed = Vec::new();
    for body in BODIES {
        malformed.push(wire.publish(&subject, body).await);
        let result = heard.result().await;
        assert_eq!(result["error"]["details"]["kind"], "invalid_request");
    }
    // An object is enough to be answered under ids that its author may know.
    wire.publish(&subject, br#"{"request_id":"known"}"#).await;
    assert_eq!(heard.result().await["request_id"], "known");
    wire.until_all_is_done().await;
    assert_eq!(dead(&wire, "malformed").await, malformed);
    assert_eq!(buried(&worker, "malformed").await, malformed.len() as u64);
    let letters = wire.all(DEAD_LETTERS).await;
    let bodies: Vec<_> = letters.iter().map(|it| &*it.payload).collect();
    assert_eq!(bodies, BODIES);
}
