//! The twin does as it is told; what it shares with the real broker is in the contract suite.

use futures_util::FutureExt as _;

use super::*;
use crate::{broker::Pull as _, clock::WallTime};

const SUBJECT: &str = "puruto.invoke.puruto-echo";

fn twin() -> BrokerTwin {
    BrokerTwin::new(Clock::manual(WallTime::from_unix_millis(1_000)))
}

async fn lane_of(twin: &BrokerTwin) -> TwinLane {
    let target = "puruto-echo".parse().unwrap();
    twin.lane(&target, Lane::Normal).await.unwrap()
}

fn result(body: &'static str) -> ResultMessage {
    ResultMessage {
        subject: "puruto.result.c.r".into(),
        headers: Headers::new(),
        body: body.into(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_comes_at_once_and_costs_demand() {
    let twin = twin();
    let mut lane = lane_of(&twin).await;
    let sequence = twin.publish(SUBJECT, Headers::new(), "one");
    twin.duplicate_next();
    lane.demand(2);
    let (first, second) = (lane.next().await, lane.next().await);
    assert_eq!((first.sequence, first.delivered), (sequence, 1));
    assert_eq!((second.sequence, second.delivered), (sequence, 2));
    assert_eq!(lane.demanded(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_unsettled_message_comes_again_when_told() {
    let twin = twin();
    let mut lane = lane_of(&twin).await;
    let sequence = twin.publish(SUBJECT, Headers::new(), "one");
    lane.demand(2);
    assert_eq!(lane.next().await.delivered, 1);
    assert!(lane.next().now_or_never().is_none());
    twin.redeliver_now(sequence);
    assert_eq!(lane.next().now_or_never().unwrap().delivered, 2);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_nak_is_remembered_but_not_obeyed() {
    let twin = twin();
    let mut lane = lane_of(&twin).await;
    twin.publish(SUBJECT, Headers::new(), "one");
    lane.demand(2);
    let delivery = lane.next().await;
    twin.drop_next_nak();
    twin.nak(&delivery.ack, Duration::ZERO).await;
    assert!(lane.next().now_or_never().is_none());
    twin.nak(&delivery.ack, Duration::ZERO).await;
    assert_eq!(lane.next().now_or_never().unwrap().delivered, 2);
    assert_eq!(twin.settlements().len(), 2);
}

#[tokio::test]
async fn a_call_that_fails_after_its_effect_has_had_it() {
    let twin = twin();
    twin.fail_next(Operation::PublishResult, FailAt::BeforeEffect);
    twin.fail_next(Operation::PublishResult, FailAt::AfterEffect);
    twin.publish_result(&result("lost")).await.unwrap_err();
    assert!(twin.results().is_empty());
    twin.publish_result(&result("kept")).await.unwrap_err();
    assert_eq!(twin.results()["puruto.result.c.r"].body, "kept");
    let again = twin.publish_result(&result("late")).await;
    assert_eq!(again, Ok(Publishing::AlreadyThere));
    assert_eq!(twin.publishes().len(), 3);
}

#[tokio::test]
async fn every_connection_hears_a_cancel() {
    let one = twin();
    let other = one.clone();
    let request = RequestKey {
        target: "puruto-echo".parse().unwrap(),
        request: "r".parse().unwrap(),
    };
    assert!(one.next_cancel().now_or_never().is_none());
    one.announce_cancel(request.clone());
    assert_eq!(one.next_cancel().await, request);
    assert_eq!(other.next_cancel().await, request);
    assert!(one.clone().next_cancel().now_or_never().is_none());
}
