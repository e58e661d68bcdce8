//! Requests that wait for others and that nobody has in hand.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;

use super::{
    unserved::{SOON, clerk, key},
    world::{Process, World},
};
use crate::{
    broker::{Broker as _, Headers, Pull as _},
    contract::{Ancestry, ChildPlace, Deadline, Fingerprint, Hop, Lane, Limits, Spent, Step},
    store::{
        AckToken, Claim, Claims as _, Commit, Nonce, RecordState, Records as _, RequestKey,
        Waits as _,
        kin::{Child, ChildEnd, ChildEnded, Intent, LetGo, Lineage, Owned, Park, Resting},
    },
};

/// A wake that got lost is noticed within this.
const NOTICED: Duration = Duration::from_secs(40);

/// The parent's message comes no sooner by itself.
const RESTS: Duration = Duration::from_secs(600);

/// A request of `clerk` that waits for one child, which is queued; the child.
async fn parent_waits(world: &World, process: &Process) -> Child {
    world.ask("parent", Headers::new());
    let (nonce, delivery) = world.clerk_takes(process, "parent").await;
    let owned = Owned {
        key: key("parent"),
        nonce,
    };
    let child = child(world);
    let park = Park {
        step: Step::new(0),
        join: 1,
        children: vec![(child.clone(), Bytes::from_static(b"{}"))],
    };
    world.store.park(&owned, &park).await.unwrap();
    world.store.intend(&intent(&child)).await.unwrap();
    let resting = Resting {
        ack: delivery.ack,
        deadline: child.deadline,
        look_at: world.clock.now().saturating_add(Duration::from_secs(30)),
    };
    let let_go = world.store.let_go(&owned, &resting).await;
    assert_eq!(let_go, Ok(LetGo::Waiting));
    world.broker.nak(&resting.ack, RESTS).await;
    child
}

fn child(world: &World) -> Child {
    Child {
        place: ChildPlace::default(),
        key: RequestKey {
            target: "echo".parse().unwrap(),
            request: "child".parse().unwrap(),
        },
        action: "file".parse().unwrap(),
        fingerprint: Fingerprint::of_bytes(b"{}"),
        limits: Limits::default(),
        deadline: Deadline::of(world.clock.now(), Duration::from_secs(60), None),
    }
}

fn intent(child: &Child) -> Intent {
    Intent {
        child: child.clone(),
        correlation: "c".parse().unwrap(),
        lineage: Lineage {
            parent: key("parent"),
            place: child.place,
            root: key("parent"),
            hop: Hop::new(1).unwrap(),
            ancestry: Ancestry::default(),
            limits: child.limits,
        },
    }
}

/// Whether the parent's message is delivered within `wait`.
async fn comes(world: &World, wait: Duration) -> bool {
    let mut lane = world.broker.lane(&clerk(), Lane::Normal).await.unwrap();
    lane.demand(1);
    let mut delivery = None;
    let step = Duration::from_millis(200);
    for _ in 0..wait.as_millis() / step.as_millis() {
        world.pass(step).await;
        if let Ok(next) = timeout(Duration::ZERO, lane.next()).await {
            delivery = Some(next);
            break;
        }
    }
    delivery.is_some()
}

#[tokio::test(start_paused = true)]
async fn a_parent_whose_wake_got_lost_is_given_back() {
    let world = World::new();
    let (_leader, other) = world.two().await;
    let child = parent_waits(&world, &other).await;
    let ended = ChildEnded {
        place: child.place,
        end: ChildEnd::Answered,
        spent: Spent::default(),
    };
    // Whoever was to give the parent's message back died before it could.
    world
        .store
        .child_ended(&key("parent"), &ended)
        .await
        .unwrap();

    assert!(comes(&world, SOON).await);
}

#[tokio::test(start_paused = true)]
async fn a_parent_that_nobody_told_of_its_childs_end_is_told() {
    let world = World::new();
    let (_leader, other) = world.two().await;
    let child = parent_waits(&world, &other).await;
    let nonce = Nonce::fresh(&world.chance);
    let claim = Claim {
        key: child.key.clone(),
        correlation: "c".parse().unwrap(),
        fingerprint: child.fingerprint,
        session: other.session.id.clone(),
        nonce,
        ack: AckToken::new("elsewhere"),
        deadline: child.deadline,
    };
    world.store.claim(claim).await.unwrap();
    let commit = Commit {
        result: Bytes::from_static(b"done"),
        cancelled: false,
        spent: Spent::default(),
    };
    world.store.commit(&child.key, nonce, commit).await.unwrap();

    assert!(!comes(&world, Duration::from_secs(20)).await);
    assert!(comes(&world, NOTICED).await);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_request_that_is_cancelled_ends_at_once_and_its_child_is_cancelled() {
    let world = World::new();
    let (_leader, other) = world.two().await;
    let child = parent_waits(&world, &other).await;
    world.store.cancel(&key("parent")).await.unwrap();

    world.pass(SOON).await;

    assert_eq!(world.code_of("parent").as_deref(), Some("CANCELLED"));
    assert!(world.broker.pending().is_empty());
    let record = world.store.record(&child.key);
    assert_eq!(record.map(|it| it.state), Some(RecordState::Flagged));
}

#[tokio::test(start_paused = true)]
async fn a_waiting_request_ends_at_its_deadline_whoever_is_free() {
    let world = World::new();
    let (_leader, other) = world.two().await;
    parent_waits(&world, &other).await;

    world.pass(Duration::from_secs(55)).await;
    assert_eq!(world.code_of("parent"), None);
    world.pass(Duration::from_secs(6)).await;

    assert_eq!(world.code_of("parent").as_deref(), Some("TIMEOUT"));
    assert!(world.broker.pending().is_empty());
}
