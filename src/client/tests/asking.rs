//! What is published, what is not, and what is said instead.

use super::*;

#[tokio::test]
async fn a_denied_request_is_answered_without_being_published() {
    let world = World::new().await;
    let error = world.refused(to("puruto-research")).await;
    assert_eq!(error.code, ErrorCode::Denied);
    assert!(
        error.message.contains("allowed_targets"),
        "{}",
        error.message
    );
    let unknown = Invocation {
        caller: "nobody".parse().unwrap(),
        ..invocation()
    };
    assert_eq!(world.refused(unknown).await.code, ErrorCode::Denied);
    assert!(world.exchange.published().is_empty());
}

#[tokio::test]
async fn a_target_that_nobody_ever_served_is_known_before_publishing() {
    let world = World::new().await;
    let error = world.refused(to("puruto-nowhere")).await;
    assert_eq!(error.code, ErrorCode::TargetNotFound);
    assert!(world.exchange.published().is_empty());
}

#[tokio::test]
async fn a_request_goes_out_whole_with_its_headers_on_its_lane() {
    let world = World::new().await;
    let deadline = WallTime::from_unix_millis(1_700_000_005_000);
    world
        .pending(Invocation {
            request_id: Some("r 1.*".parse().unwrap()),
            lane: Lane::High,
            deadline: Some(deadline),
            ..invocation()
        })
        .await;
    let published = world.exchange.published().remove(0);
    assert_eq!(published.subject, "puruto.invoke.puruto-financial.high");
    let header = |it| published.headers.get(it).map(str::to_owned);
    let id = format!("r%201%2E%2A.c-1.{}", fingerprint());
    assert_eq!(header(Header::MessageId), Some(id));
    assert_eq!(header(Header::Priority).as_deref(), Some("high"));
    assert_eq!(header(Header::Deadline), Some(deadline.to_string()));
    let draft = Draft::parse(&published.body).unwrap();
    assert_eq!(draft.request_id.unwrap().as_str(), "r 1.*");
    assert_eq!(draft.prompt, "pay #123");
}

#[tokio::test]
async fn fresh_ids_are_sorted_by_time_and_never_the_same() {
    let world = World::new().await;
    let fresh = || Invocation {
        request_id: None,
        correlation_id: None,
        ..invocation()
    };
    let (one, other) = (world.pending(fresh()).await, world.pending(fresh()).await);
    assert_ne!(one.request_id(), other.request_id());
    assert_ne!(one.request_id().as_str(), one.correlation_id().as_str());
    let id: uuid::Uuid = one.request_id().as_str().parse().unwrap();
    assert_eq!(id.get_version_num(), 7);
    assert_eq!(id.get_timestamp().unwrap().to_unix().0, 1_700_000_000);
}

#[tokio::test]
async fn an_unconfirmed_publish_is_sent_again_with_the_same_id_and_then_given_up() {
    let world = World::new().await;
    world.exchange.answer_publish(Err(timed_out()));
    world.pending(invocation()).await;
    let published = world.exchange.published();
    assert_eq!(published.len(), 2);
    assert_eq!(published[0].headers, published[1].headers);

    for _ in 0..3 {
        world.exchange.answer_publish(Err(timed_out()));
    }
    let fault = world.client.invoke(invocation()).await.unwrap_err();
    assert_eq!(fault, ClientFault::Broker(timed_out()));
    assert_eq!(world.exchange.published().len(), 5);
}

#[tokio::test]
async fn a_prompt_that_is_too_long_says_the_limit_and_goes_nowhere() {
    let world = World::new().await;
    let long = Invocation {
        prompt: "x".repeat(262_145),
        ..invocation()
    };
    let fault = world.client.invoke(long).await.unwrap_err().to_string();
    assert!(fault.contains("262145 bytes; at most 262144"), "{fault}");
    assert!(world.exchange.published().is_empty());
}

#[tokio::test]
async fn the_same_request_in_another_chain_is_no_duplicate_to_the_broker() {
    let world = World::new().await;
    world.pending(invocation()).await;
    let elsewhere = Invocation {
        correlation_id: Some("c-2".parse().unwrap()),
        ..invocation()
    };
    world.pending(elsewhere).await;
    let published = world.exchange.published();
    let id = |nth: usize| published[nth].headers.get(Header::MessageId);
    assert!(id(0).is_some());
    assert_ne!(id(0), id(1));
}

/// The first word of an answer, as the worker tells it.
fn first_word(body: &str) -> ResultMessage {
    ResultMessage {
        subject: Subjects::default().token(&correlation(), &request()),
        headers: Headers::new(),
        body: body.to_owned().into(),
    }
}

#[tokio::test]
async fn a_word_that_is_told_while_the_request_is_still_being_published_is_heard() {
    let world = World::new().await;
    world.exchange.answer_on_publish(first_word("no token"));
    let said = r#"{"index":0,"content":"Paid"}"#;
    world.exchange.answer_on_publish(first_word(said));
    let (invoked, mut hearing) = world.client.invoke_heard(invocation()).await.unwrap();
    assert!(matches!(invoked, Invoked::Pending(_)), "{invoked:?}");
    let Heard::Says(heard) = hearing.next().await else {
        panic!("nothing is missing");
    };
    assert_eq!(heard.to_json(), said.as_bytes());
}
