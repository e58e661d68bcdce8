//! A result finds its caller, whenever it comes and whatever else happens.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_result_published_while_we_wait_is_taken_at_once() {
    let world = World::new().await;
    let (started, exchange) = (Instant::now(), world.exchange.clone());
    let pending = world.pending(invocation()).await;
    tokio::spawn(async move {
        sleep(Duration::from_millis(50)).await;
        exchange.publish(&ours());
    });
    assert_eq!(summary_of(pending.result().await.unwrap()), "ours");
    assert_eq!(started.elapsed(), Duration::from_millis(50));
    assert_eq!(world.exchange.looks(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_result_published_before_the_publish_is_confirmed_is_not_missed() {
    let world = World::new().await;
    world.exchange.answer_on_publish(ours());
    let pending = world.pending(invocation()).await;
    assert_eq!(summary_of(pending.result().await.unwrap()), "ours");
    assert_eq!(world.exchange.looks(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_result_from_long_before_is_read_from_the_stream() {
    let world = World::new().await;
    world.exchange.store(ours());
    let started = Instant::now();
    let pending = world.pending(invocation()).await;
    assert_eq!(summary_of(pending.result().await.unwrap()), "ours");
    assert_eq!(started.elapsed(), Duration::from_millis(200));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_the_broker_knew_is_looked_for_at_once() {
    let world = World::new().await;
    world.exchange.store(ours());
    world.exchange.answer_publish(Ok(PublishAck {
        sequence: 1,
        duplicate: true,
    }));
    let started = Instant::now();
    let pending = world.pending(invocation()).await;
    assert_eq!(summary_of(pending.result().await.unwrap()), "ours");
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn what_was_missed_while_the_connection_was_away_is_read_when_it_is_back() {
    let world = World::new().await;
    let (started, exchange) = (Instant::now(), world.exchange.clone());
    let pending = world.pending(invocation()).await;
    tokio::spawn(async move {
        sleep(Duration::from_millis(1_000)).await;
        exchange.store(ours());
        exchange.reconnect();
    });
    assert_eq!(summary_of(pending.result().await.unwrap()), "ours");
    assert_eq!(started.elapsed(), Duration::from_millis(1_000));
}

#[tokio::test(start_paused = true)]
async fn the_stream_is_read_once_more_before_a_time_out_is_reported() {
    let world = World::new().await;
    let exchange = world.exchange.clone();
    let pending = world.pending(invocation()).await;
    tokio::spawn(async move {
        sleep(TIMEOUT + GRACE - Duration::from_millis(1)).await;
        exchange.store(ours());
    });
    assert_eq!(summary_of(pending.result().await.unwrap()), "ours");
}

#[tokio::test(start_paused = true)]
async fn without_a_result_the_answer_is_a_time_out_after_deadline_and_grace() {
    let world = World::new().await;
    let started = Instant::now();
    let pending = world.pending(invocation()).await;
    let error = error_of(pending.result().await.unwrap());
    assert_eq!(error.code, ErrorCode::Timeout);
    assert!(error.message.contains("10s"), "{}", error.message);
    assert_eq!(started.elapsed(), TIMEOUT + GRACE);
}

#[tokio::test(start_paused = true)]
async fn the_requests_own_time_out_and_deadline_win_over_the_policys() {
    let world = World::new().await;
    for (seconds, deadline_in, expected) in [(2, None, 2), (20, Some(4), 4), (2, Some(4), 2)] {
        let now = WallTime::from_unix_millis(1_700_000_000_000);
        let started = Instant::now();
        let pending = world.pending(Invocation {
            timeout: TimeoutSec::new(seconds),
            deadline: deadline_in.map(|it| now.saturating_add(Duration::from_secs(it))),
            ..invocation()
        });
        error_of(pending.await.result().await.unwrap());
        assert_eq!(started.elapsed(), Duration::from_secs(expected) + GRACE);
    }
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_cannot_be_asked_at_the_end_is_no_time_out_of_the_request() {
    let world = World::new().await;
    let pending = world.pending(invocation()).await;
    world.exchange.go_away();
    assert_eq!(
        pending.result().await.unwrap_err(),
        ClientFault::Broker(timed_out())
    );
}

#[tokio::test(start_paused = true)]
async fn results_of_other_requests_of_the_chain_are_passed_over() {
    let world = World::new().await;
    let pending = world.pending(invocation()).await;
    let child = Subjects::default().result(&correlation(), &"child".parse().unwrap());
    world
        .exchange
        .publish(&message(child, fingerprint(), &done("child")));
    world.exchange.publish(&ours());
    assert_eq!(summary_of(pending.result().await.unwrap()), "ours");
}

#[tokio::test(start_paused = true)]
async fn another_requests_result_is_not_ours_and_the_conflicts_answer_stands_aside() {
    let world = World::new().await;
    world.exchange.store(theirs());
    let exchange = world.exchange.clone();
    let pending = world.pending(invocation()).await;
    tokio::spawn(async move {
        sleep(Duration::from_millis(700)).await;
        let aside = Subjects::default().result_aside(&correlation(), &request(), fingerprint());
        exchange.publish(&message(aside, fingerprint(), &done("aside")));
    });
    assert_eq!(summary_of(pending.result().await.unwrap()), "aside");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_stands_aside_is_found_where_its_place_cannot_be_read() {
    let world = World::new().await;
    world.exchange.break_readers_of(&ours().subject);
    let aside = Subjects::default().result_aside(&correlation(), &request(), fingerprint());
    world
        .exchange
        .store(message(aside, fingerprint(), &done("aside")));
    let pending = world.pending(invocation()).await;
    assert_eq!(summary_of(pending.result().await.unwrap()), "aside");
}

#[tokio::test(start_paused = true)]
async fn a_conflict_that_nobody_answers_is_reported_after_the_grace() {
    let world = World::new().await;
    world.exchange.store(theirs());
    let started = Instant::now();
    let pending = world.pending(invocation()).await;
    let error = error_of(pending.result().await.unwrap());
    assert_eq!(error.kind(), Some("request_id_conflict"));
    assert_eq!(started.elapsed(), Duration::from_millis(200) + GRACE);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_result_is_named_and_not_waited_over() {
    let world = World::new().await;
    let pending = world.pending(invocation()).await;
    let mut broken = ours();
    broken.body = "{}".into();
    world.exchange.publish(&broken);
    let fault = pending.result().await.unwrap_err().to_string();
    assert!(
        fault.contains("puruto.result.c-1.r-1 is no result"),
        "{fault}"
    );
}
