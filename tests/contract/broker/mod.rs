//! What the walk relies on, asked of the twin and of a real JetStream.

macro_rules! promises {
    ($($promise:ident),+ $(,)?) => {
        mod twin {
            $(#[tokio::test(start_paused = true)]
            async fn $promise() {
                super::$promise::<super::harness::Twin>().await;
            })+
        }

        mod real {
            $(#[tokio::test]
            async fn $promise() {
                super::$promise::<super::harness::Real>().await;
            })+
        }
    };
}

mod client;
mod failing;
mod harness;
mod hostile;
mod permissions;
mod recovery;
mod stored;
mod topology;

use std::time::Duration;

use puruto_fleet::{
    broker::{AckFault, Broker, Pong, Presence, Publishing, Pull},
    clock::Chance,
    contract::Lane,
    store::SessionId,
};
use tokio::time::{Instant, timeout};

use self::harness::{Harness, SOON, lane_of, next, nothing, result};

promises!(
    demand_is_never_exceeded,
    a_lane_sees_its_own_requests_only,
    what_was_withdrawn_is_delivered_elsewhere,
    an_unsettled_delivery_comes_again_after_the_ack_wait_and_counts,
    progress_puts_the_ack_wait_off,
    a_nak_delays_the_next_delivery,
    a_confirmed_ack_removes_for_good,
    acks_are_not_fenced,
    an_ack_that_reaches_no_consumer_says_so,
    a_lane_outlives_its_consumer,
    a_result_stands_once_and_the_first_stays,
    nothing_stands_where_nothing_was_published,
    what_is_broadcast_is_heard_in_order_by_whoever_listens,
    a_session_is_there_as_long_as_somebody_answers_for_it,
);

async fn demand_is_never_exceeded<H: Harness>() {
    let world = H::start().await;
    for body in ["1", "2", "3", "4", "5"] {
        world.publish(Lane::Normal, body).await;
    }
    let mut lane = lane_of(world.broker()).await;
    nothing(&mut lane).await;
    lane.demand(1);
    lane.demand(1);
    assert_eq!(lane.demanded(), 2);
    let (first, second) = (next(&mut lane).await, next(&mut lane).await);
    assert_eq!((&*first.body, &*second.body), (&b"1"[..], &b"2"[..]));
    assert_eq!(lane.backlog(), 3);
    assert_eq!(lane.demanded(), 0);
    nothing(&mut lane).await;
}

async fn a_lane_sees_its_own_requests_only<H: Harness>() {
    let world = H::start().await;
    world.publish(Lane::High, "urgent").await;
    world.publish(Lane::Normal, "plain").await;
    let mut lane = lane_of(world.broker()).await;
    lane.demand(2);
    let delivery = next(&mut lane).await;
    assert_eq!(&*delivery.subject, "puruto.invoke.puruto-echo");
    assert_eq!(
        (delivery.lane, &*delivery.body),
        (Lane::Normal, &b"plain"[..])
    );
    nothing(&mut lane).await;
}

async fn what_was_withdrawn_is_delivered_elsewhere<H: Harness>() {
    let world = H::start().await;
    let (mut one, mut other) = (lane_of(world.broker()).await, lane_of(world.broker()).await);
    one.demand(5);
    nothing(&mut one).await;
    one.withdraw();
    assert_eq!(one.demanded(), 0);
    nothing(&mut one).await;
    world.publish(Lane::Normal, "1").await;
    other.demand(1);
    assert_eq!(next(&mut other).await.delivered, 1);
    nothing(&mut one).await;
    one.demand(1);
    world.publish(Lane::Normal, "2").await;
    assert_eq!(&*next(&mut one).await.body, b"2");
}

async fn an_unsettled_delivery_comes_again_after_the_ack_wait_and_counts<H: Harness>() {
    let world = H::start().await;
    world.publish(Lane::Normal, "1").await;
    let mut lane = lane_of(world.broker()).await;
    lane.demand(2);
    let first = next(&mut lane).await;
    let delivered = Instant::now();
    let again = next(&mut lane).await;
    assert!(
        delivered.elapsed() >= Duration::from_secs(14),
        "{:?}",
        delivered.elapsed()
    );
    assert_eq!((first.delivered, again.delivered), (1, 2));
    assert_eq!(first.sequence, again.sequence);
    assert_eq!(first.stored_at, again.stored_at);
}

async fn progress_puts_the_ack_wait_off<H: Harness>() {
    let world = H::start().await;
    world.publish(Lane::Normal, "1").await;
    let mut lane = lane_of(world.broker()).await;
    lane.demand(2);
    let first = next(&mut lane).await;
    let delivered = Instant::now();
    tokio::time::sleep(Duration::from_secs(3)).await;
    world.broker().in_progress(&first.ack).await;
    assert_eq!(next(&mut lane).await.delivered, 2);
    assert!(
        delivered.elapsed() >= Duration::from_secs(17),
        "{:?}",
        delivered.elapsed()
    );
}

async fn a_nak_delays_the_next_delivery<H: Harness>() {
    let world = H::start().await;
    world.publish(Lane::Normal, "1").await;
    let mut lane = lane_of(world.broker()).await;
    lane.demand(3);
    let delivery = next(&mut lane).await;
    let given_back = Instant::now();
    world
        .broker()
        .nak(&delivery.ack, Duration::from_secs(1))
        .await;
    let again = next(&mut lane).await;
    let waited = given_back.elapsed();
    assert!(
        waited >= Duration::from_millis(990) && waited < Duration::from_secs(5),
        "{waited:?}"
    );
    assert_eq!(again.delivered, 2);
    world.broker().nak(&again.ack, Duration::ZERO).await;
    let given_back = Instant::now();
    assert_eq!(next(&mut lane).await.delivered, 3);
    assert!(given_back.elapsed() < Duration::from_secs(1));
}

async fn a_confirmed_ack_removes_for_good<H: Harness>() {
    let world = H::start().await;
    world.publish(Lane::Normal, "1").await;
    let mut lane = lane_of(world.broker()).await;
    lane.demand(2);
    let delivery = next(&mut lane).await;
    assert_eq!(world.stored().await, 1);
    assert_eq!(world.broker().ack(&delivery.ack).await, Ok(()));
    assert_eq!(world.stored().await, 0);
    assert_eq!(world.broker().ack(&delivery.ack).await, Ok(()));
    nothing(&mut lane).await;
}

async fn acks_are_not_fenced<H: Harness>() {
    let world = H::start().await;
    world.publish(Lane::Normal, "1").await;
    let (mut one, mut other) = (lane_of(world.broker()).await, lane_of(world.broker()).await);
    one.demand(1);
    let stale = next(&mut one).await;
    world.broker().nak(&stale.ack, Duration::ZERO).await;
    other.demand(1);
    assert_eq!(next(&mut other).await.delivered, 2);
    assert_eq!(world.broker().ack(&stale.ack).await, Ok(()));
    assert_eq!(world.stored().await, 0);
}

async fn an_ack_that_reaches_no_consumer_says_so<H: Harness>() {
    let world = H::start().await;
    world.publish(Lane::Normal, "1").await;
    let mut lane = lane_of(world.broker()).await;
    lane.demand(1);
    let delivery = next(&mut lane).await;
    world.delete_consumer(Lane::Normal).await;
    let token = delivery.ack.clone();
    let acked = world.broker().ack(&delivery.ack).await;
    assert_eq!(acked, Err(AckFault::NoConsumer { token }));
    assert_eq!(world.stored().await, 1);
}

async fn a_lane_outlives_its_consumer<H: Harness>() {
    let world = H::start().await;
    let mut lane = lane_of(world.broker()).await;
    lane.demand(2);
    nothing(&mut lane).await;
    world.delete_consumer(Lane::Normal).await;
    world.publish(Lane::Normal, "1").await;
    let delivery = next(&mut lane).await;
    assert_eq!((&*delivery.body, delivery.delivered), (&b"1"[..], 1));
}

async fn a_result_stands_once_and_the_first_stays<H: Harness>() {
    let world = H::start().await;
    let broker = world.broker();
    assert_eq!(
        broker.publish_result(&result("one")).await,
        Ok(Publishing::Stored)
    );
    let again = broker.publish_result(&result("other")).await;
    assert_eq!(again, Ok(Publishing::AlreadyThere));
    let read = broker.read_result(&result("one").subject).await;
    let standing = read.expect("an answer").expect("a result");
    assert_eq!(&*standing.body, b"one");
    assert_eq!(standing.headers.get_named("Puruto-Status"), Some("ok"));
}

async fn nothing_stands_where_nothing_was_published<H: Harness>() {
    let world = H::start().await;
    let read = world
        .broker()
        .read_result("puruto.result.corr-1.other")
        .await;
    assert_eq!(read, Ok(None));
}

async fn what_is_broadcast_is_heard_in_order_by_whoever_listens<H: Harness>() {
    let world = H::start().await;
    let subject = "puruto.token.corr-1.req-1";
    let broker = world.broker();
    let sent = broker.broadcast("puruto.token.corr-1.other", "0".into());
    assert_eq!(sent.await, Ok(()), "nobody has to listen");
    let heard = world.heard(subject, 2, async {
        for body in ["1", "2"] {
            let sent = broker.broadcast(subject, body.into());
            assert_eq!(sent.await, Ok(()));
        }
    });
    assert_eq!(heard.await, [&b"1"[..], b"2"]);
    assert_eq!(world.stored().await, 0);
}

async fn a_session_is_there_as_long_as_somebody_answers_for_it<H: Harness>() {
    let world = H::start().await;
    let (broker, session) = (world.broker(), SessionId::fresh(&Chance::system()));
    assert_eq!(broker.ping(&session, SOON).await, Pong::NoResponders);
    {
        let answering = broker.answer_pings(&session);
        let asking = async {
            // The first one may come before anybody listens.
            while broker.ping(&session, SOON).await != Pong::Answered {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            () = answering => panic!("it ends only when it is dropped"),
            answered = timeout(SOON, asking) => answered.expect("an answer"),
        }
    }
    let unanswered = async {
        while broker.ping(&session, SOON).await != Pong::NoResponders {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, unanswered).await.expect("nobody is there");
}
