//! Urgency: which of the waiting requests is served next.

use crate::{
    fleet::Fleet,
    wire::{Wire, json_of, request},
};

/// One at a time, and the first of all long enough for the others to wait behind it.
const CLERK: (&str, &str) = (
    "clerk",
    r#"
        concurrency = 1
        [model]
        provider = "simulated"
        latency = "15ms"
        [[model.rules]]
        when = "a moment"
        latency = "1s"
    "#,
);

/// So many of each lane wait.
const EACH: usize = 30;

async fn fill(wire: &Wire, lane: &str, subject: &str) {
    for number in 0..EACH {
        let mut request = request(&format!("{lane}-{number}"), "clerk", "Hello");
        request["correlation_id"] = "chain".into();
        wire.publish(subject, request.to_string()).await;
    }
}

/// How many of `lane` were served up to the last one of `until`.
fn served(order: &[String], lane: &str, until: &str) -> usize {
    let last = order.iter().rposition(|it| it == until).expect("served");
    order[..last].iter().filter(|it| *it == lane).count()
}

#[tokio::test]
async fn high_goes_before_normal_and_low_is_not_starved() {
    let fleet = Fleet::of(&[CLERK]).await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let mut heard = wire.listen("puruto.result.chain.*").await;
    wire.ask(&request("first", "clerk", "Take a moment")).await;
    worker.until_running("clerk", 1).await;

    fill(&wire, "low", "puruto.invoke.clerk.low").await;
    fill(&wire, "normal", "puruto.invoke.clerk").await;
    fill(&wire, "high", "puruto.invoke.clerk.high").await;
    let mut order = Vec::new();
    for _ in 0..3 * EACH {
        let result = heard.result().await;
        let id = result["request_id"].as_str().expect("an id");
        order.push(id.split_once('-').expect("its lane").0.to_owned());
    }

    // What was asked for before the lanes filled may still come first.
    assert!(served(&order, "normal", "high") <= 3, "{order:?}");
    let low = served(&order, "low", "high");
    assert!((2..=6).contains(&low), "{low} of low: {order:?}");
    let low = served(&order, "low", "normal");
    assert!((4..=10).contains(&low), "{low} of low: {order:?}");
}

#[tokio::test]
async fn each_priority_of_the_command_line_is_served() {
    let fleet = Fleet::of(&[CLERK]).await;
    let _worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;

    for (priority, subject) in [
        ("high", "puruto.invoke.clerk.high"),
        ("normal", "puruto.invoke.clerk"),
        ("low", "puruto.invoke.clerk.low"),
    ] {
        let mut published = wire.listen(subject).await;
        let words = ["invoke", "clerk", "do", "Hello", "--priority", priority];
        let answered = fleet.puruto(&words).await;
        assert_eq!(answered.code, 0, "{answered:?}");
        let asked = json_of(&published.next().await.payload);
        assert_eq!(asked["request_id"], answered.json()["request_id"]);
    }
}
