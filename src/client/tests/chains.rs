//! Chains: what is told of their requests, what they look like, and their cancel.

use bytes::Bytes;

use super::*;
use crate::{
    contract::{
        Ancestor, Ancestry, ChildPlace, Deadline, Event, EventKind, Hop, Limits, Spent, Step,
    },
    store::{
        Waits as _,
        kin::{Child, Intent, LetGo, Lineage, Owned, Park, Resting, Verdict, VerdictAnswer},
    },
};

const NOW: WallTime = WallTime::from_unix_millis(1_700_000_000_000);

fn event(kind: EventKind, millis: u64) -> ResultMessage {
    let event = Event {
        kind,
        at: WallTime::from_unix_millis(millis),
        target: key().target,
        request_id: request(),
        correlation_id: correlation(),
        attempt: Some(1),
        details: serde_json::Map::new(),
    };
    ResultMessage {
        subject: Subjects::default().event(&correlation(), &request(), kind),
        headers: Headers::new(),
        body: event.to_json().into(),
    }
}

fn child_key() -> RequestKey {
    RequestKey {
        target: "puruto-financial".parse().unwrap(),
        request: "child".parse().unwrap(),
    }
}

fn child() -> Child {
    Child {
        place: ChildPlace::default(),
        key: child_key(),
        action: "audit".parse().unwrap(),
        fingerprint: Fingerprint::of_bytes(b"child"),
        limits: Limits {
            requests: Some(5),
            ..Limits::default()
        },
        deadline: Deadline::of(NOW, TIMEOUT, None),
    }
}

fn lineage() -> Lineage {
    Lineage {
        parent: key(),
        place: ChildPlace::default(),
        root: key(),
        hop: Hop::new(1).unwrap(),
        ancestry: Ancestry::default().below(Ancestor {
            target: key().target,
            action: "pay_invoice".parse().unwrap(),
            prompt: Fingerprint::of_bytes(b"pay #123"),
        }),
        limits: child().limits,
    }
}

impl World {
    /// The request has asked another, waits for it, and nobody owns it.
    async fn delegate(&self) {
        self.work(None).await;
        let owned = Owned {
            key: key(),
            nonce: Nonce::fresh(&Chance::seeded(8)),
        };
        let park = Park {
            step: Step::new(0),
            join: 1,
            children: vec![(child(), Bytes::from_static(b"{}"))],
        };
        self.store.park(&owned, &park).await.unwrap();
        let intent = Intent {
            child: child(),
            correlation: correlation(),
            lineage: lineage(),
        };
        self.store.intend(&intent).await.unwrap();
        let resting = Resting {
            ack: AckToken::new("ack"),
            deadline: child().deadline,
            look_at: NOW,
        };
        let let_go = self.store.let_go(&owned, &resting).await;
        assert_eq!(let_go, Ok(LetGo::Waiting));
        self.store.note_root(&correlation(), &key()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn who_follows_a_request_hears_each_event_once_those_before_and_those_after() {
    let world = World::new().await;
    let accepted = event(EventKind::Accepted, 1);
    world.exchange.store(accepted.clone());
    let mut following = world.client.follow(&request(), None).await.unwrap();
    assert_eq!(following.next().await.unwrap().kind, EventKind::Accepted);
    // Stored before, and told again.
    world.exchange.publish(&accepted);
    world.exchange.publish(&event(EventKind::Started, 2));
    assert_eq!(following.next().await.unwrap().kind, EventKind::Started);

    // One whose arrival was lost.
    world.exchange.store(event(EventKind::Done, 3));
    let next = tokio::time::timeout(Duration::from_secs(6), following.next());
    assert_eq!(next.await.unwrap().unwrap().kind, EventKind::Done);
}

#[tokio::test]
async fn an_event_of_a_later_kind_is_passed_over() {
    let world = World::new().await;
    let mut later = event(EventKind::Done, 1);
    later.body = Bytes::from_static(br#"{"kind":"teleported"}"#);
    world.exchange.store(later);
    world.exchange.store(event(EventKind::Done, 2));
    let events = world.client.events(&request(), None).await.unwrap();
    let kinds: Vec<_> = events.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [EventKind::Done]);
    let elsewhere = "puruto-research".parse().unwrap();
    let of_others = world.client.events(&request(), Some(&elsewhere)).await;
    assert_eq!(of_others, Ok(Vec::new()));
}

#[tokio::test]
async fn a_tree_says_who_asked_whom_and_what_was_spent_so_far() {
    let world = World::new().await;
    world.delegate().await;
    let tree = world.client.tree(&correlation()).await.unwrap();
    assert_eq!(tree.roots.len(), 1);
    let root = &tree.roots[0];
    assert_eq!(root.key, key());
    // By what its child's record says of its origin.
    assert_eq!(root.action.as_ref().unwrap().as_str(), "pay_invoice");
    // What its child may spend is not spent.
    let spent = Spent {
        descendants: 1,
        ..Spent::default()
    };
    assert_eq!(root.spent, spent);
    let below: Vec<_> = root.children.iter().map(|it| &it.key).collect();
    assert_eq!(below, [&child_key()]);

    let below = world.client.tree_below(&child_key().request, None).await;
    assert_eq!(below.unwrap().roots[0].key, child_key());
}

#[tokio::test]
async fn a_chain_of_which_nothing_is_known_has_no_tree() {
    let world = World::new().await;
    let chain = correlation();
    let unknown = world.client.tree(&chain).await.unwrap_err();
    assert_eq!(unknown, ClientFault::ChainUnknown { chain });
}

#[tokio::test]
async fn a_cancel_reaches_what_a_waiting_request_asked() {
    let world = World::new().await;
    world.delegate().await;
    let cancelled = world.client.cancel(&request(), Some(&key().target)).await;
    let keys: Vec<_> = cancelled.unwrap().into_iter().map(|it| it.key).collect();
    assert_eq!(keys, [key(), child_key()]);
}

#[tokio::test]
async fn the_cancel_of_a_chain_reaches_also_what_no_worker_has_seen() {
    let world = World::new().await;
    world.delegate().await;
    let queued = Invocation {
        request_id: Some("queued".parse().unwrap()),
        ..invocation()
    };
    world.pending(queued).await;
    let cancelled = world.client.cancel_chain(&correlation()).await.unwrap();
    let ids: Vec<_> = cancelled.iter().map(|it| it.key.request.as_str()).collect();
    assert_eq!(ids, ["child", "r-1", "queued"]);

    let chain: CorrelationId = "other".parse().unwrap();
    let unknown = world.client.cancel_chain(&chain).await.unwrap_err();
    assert_eq!(unknown, ClientFault::ChainUnknown { chain });
}

#[tokio::test]
async fn a_verdict_is_bound_to_what_lies_in_the_stream() {
    let world = World::new().await;
    let missing = world.client.to_decide(&request(), None).await.unwrap_err();
    assert_eq!(missing, ClientFault::NotQueued { request: request() });

    world.pending(invocation()).await;
    let queued = world.client.to_decide(&request(), None).await.unwrap();
    assert_eq!(queued.request.fingerprint(), fingerprint());
    assert_eq!(queued.request.prompt, "pay #123");
    let verdict = Verdict {
        approved: true,
        by: "ana".to_owned(),
        note: None,
        fingerprint: queued.request.fingerprint(),
    };
    let early = world.client.decide(&queued.key(), &verdict).await;
    assert_eq!(early, Ok(VerdictAnswer::NotAsked));

    world.work(None).await;
    let owned = Owned {
        key: key(),
        nonce: Nonce::fresh(&Chance::seeded(8)),
    };
    let resting = Resting {
        ack: AckToken::new("ack"),
        deadline: child().deadline,
        look_at: NOW,
    };
    world.store.ask_verdict(&owned, &resting).await.unwrap();
    let taken = world.client.decide(&queued.key(), &verdict).await;
    assert_eq!(taken, Ok(VerdictAnswer::Taken));
}

#[tokio::test]
async fn what_lies_before_a_request_is_counted_from_what_its_lane_gave_out() {
    let world = World::new().await;
    for id in ["a", "b", "c"] {
        let asked = Invocation {
            request_id: Some(id.parse().unwrap()),
            ..invocation()
        };
        world.pending(asked).await;
    }
    let last = "c".parse().unwrap();
    let last = world.client.to_decide(&last, None).await.unwrap();
    let ahead = async |delivered, most| world.client.ahead_of(&last, delivered, most).await;
    assert_eq!(ahead(0, 100).await, Ok(2));
    assert_eq!(ahead(1, 100).await, Ok(1));
    assert_eq!(ahead(0, 1).await, Ok(1));
}
