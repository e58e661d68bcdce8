//! A message that somebody sent and waits for: it always has a result.

use super::*;

const BODY: &str = r#"{
    "request_id": "r-1", "correlation_id": "c-1", "caller": "puruto-reservations",
    "target": "puruto-financial", "action": "pay_invoice", "prompt": "pay #123"
}"#;

fn target() -> crate::contract::PurutoName {
    "puruto-financial".parse().unwrap()
}

async fn relay(world: &World, headers: &Headers, body: &str) -> InvocationResult {
    let read = world
        .client
        .read_message(&target(), headers, body.as_bytes());
    world.client.relay(&read).await
}

#[tokio::test(start_paused = true)]
async fn a_message_is_published_as_the_request_that_it_is_and_gets_its_result() {
    let world = World::new().await;
    world.exchange.answer_on_publish(ours());
    let mut headers = Headers::new();
    headers.push(Header::Priority, "high");

    let result = relay(&world, &headers, BODY).await;

    assert_eq!(summary_of(result), "ours");
    let [published] = &world.exchange.published()[..] else {
        panic!("one request");
    };
    assert_eq!(published.subject, "puruto.invoke.puruto-financial.high");
    let sent = Draft::parse(&published.body).unwrap();
    assert_eq!(sent.request_id, Some(request()));
    assert_eq!(sent.correlation_id, Some(correlation()));
}

#[tokio::test(start_paused = true)]
async fn fields_that_only_the_target_knows_reach_it() {
    let world = World::new().await;
    let body = BODY.replacen('{', r#"{"shoe_size": 43,"#, 1);

    relay(&world, &Headers::new(), &body).await;

    let published = world.exchange.published();
    let sent = Draft::parse(&published[0].body).unwrap();
    assert_eq!(sent.extra["shoe_size"], 43);
}

#[tokio::test(start_paused = true)]
async fn ids_that_were_left_out_are_made_and_stand_in_the_answer() {
    let world = World::new().await;
    let body = json!({
        "caller": "puruto-reservations", "target": "puruto-financial",
        "action": "pay_invoice", "prompt": "pay",
    });

    let result = relay(&world, &Headers::new(), &body.to_string()).await;

    let published = world.exchange.published();
    let sent = Draft::parse(&published[0].body).unwrap();
    assert_eq!(sent.request_id.as_ref(), Some(&result.request_id));
    let id: uuid::Uuid = result.request_id.as_str().parse().unwrap();
    assert_eq!(id.get_version_num(), 7);
    assert_eq!(error_of(result).code, ErrorCode::Timeout);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_request_is_answered_with_what_is_wrong_and_published_nowhere() {
    let world = World::new().await;
    let mut late = Headers::new();
    late.push(Header::Deadline, "tomorrow");

    let garbage = relay(&world, &Headers::new(), "hello").await;
    let lacking = relay(&world, &Headers::new(), r#"{"request_id": "r-1"}"#).await;
    let cut = relay(&world, &late, BODY).await;

    assert_eq!(lacking.request_id, request());
    for result in [garbage, lacking, cut] {
        assert_eq!(error_of(result).kind(), Some("invalid_request"));
    }
    assert!(world.exchange.published().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_message_for_another_target_is_denied() {
    let world = World::new().await;
    let body = BODY.replace("puruto-financial", "puruto-echo");

    let result = relay(&world, &Headers::new(), &body).await;

    assert_eq!(error_of(result).code, ErrorCode::Denied);
    assert!(world.exchange.published().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_does_not_store_it_is_told_of() {
    let world = World::new().await;
    for _ in 0..3 {
        world.exchange.answer_publish(Err(timed_out()));
    }

    let result = relay(&world, &Headers::new(), BODY).await;

    let error = error_of(result);
    assert_eq!(error.kind(), Some("internal"));
    assert!(
        error.message.contains("did not answer"),
        "{}",
        error.message
    );
}
