//! What is told of a request while it is worked on.

use puruto_fleet::contract::{Event, EventKind};

use crate::{
    joints::Mischief,
    scenario::{SCENARIOS, body},
    world::World,
};

/// Everything that was told, each with its subject.
fn told(world: &World) -> Vec<(String, Event)> {
    let broadcasts = world.broker.broadcasts().into_iter();
    let events = broadcasts.filter(|(subject, _)| subject.starts_with("puruto.event."));
    let read = |(subject, body): (String, bytes::Bytes)| {
        (subject, serde_json::from_slice(&body).expect("an event"))
    };
    events.map(read).collect()
}

fn kinds(world: &World) -> Vec<EventKind> {
    told(world).iter().map(|(_, event)| event.kind).collect()
}

#[tokio::test(start_paused = true)]
async fn what_happens_to_a_request_is_told_in_order_and_without_a_word_of_it() {
    let world = World::new();
    let asked = body("settle invoice 42", "pay_invoice");
    world.publish(&asked);
    let worker = world.worker(Mischief::None).await;
    worker.process(world.delivery().await).await;

    let in_order = [EventKind::Accepted, EventKind::Started, EventKind::Done];
    assert_eq!(kinds(&world), in_order);
    for (subject, event) in told(&world) {
        let ids = (&event.correlation_id, &event.request_id, event.kind);
        assert_eq!(
            subject,
            format!("puruto.event.{}.{}.{}", ids.0, ids.1, ids.2)
        );
        assert_eq!(event.attempt, Some(1));
        let prompt = asked["prompt"].as_str().expect("a prompt");
        let written = String::from_utf8(event.to_json()).expect("text");
        assert!(!written.contains(prompt), "{written}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_goes_on_for_a_dead_one_tells_that_it_tries_again() {
    let scenario = &SCENARIOS[0];
    let retried = async |joint: usize| {
        let world = World::new();
        scenario.play(&world, Mischief::Die(joint)).await;
        let told = kinds(&world);
        told.contains(&EventKind::Retrying) && told.ends_with(&[EventKind::Done])
    };
    let mut some = false;
    for joint in 0..8 {
        some |= retried(joint).await;
    }
    assert!(some, "nobody died with a claim");
}
