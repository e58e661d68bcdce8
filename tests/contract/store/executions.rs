//! What somebody started who does not speak NATS.

use std::time::Duration;

use puruto_fleet::{
    clock::{Clock, WallTime},
    contract::{Deadline, Fingerprint},
    store::executions::{
        Begun, Execution, Executions as _, LISTED_MAX, Listed, ListedAfter, Owner,
    },
};

use super::world::{World, request};

fn owner(number: u8) -> Owner {
    Owner::of_digest([number; 16])
}

fn created(number: u64) -> WallTime {
    let now = Clock::system().now().unix_millis();
    WallTime::from_unix_millis(now + number)
}

fn execution(id: &str, at: WallTime) -> Execution {
    Execution {
        key: request(id),
        correlation: "chain".parse().expect("an id"),
        skill: "com.example.translate-v1".into(),
        fingerprint: Fingerprint::of_bytes(b"translate this"),
        created: at,
        deadline: Deadline::of(at, Duration::from_secs(30), None),
    }
}

async fn begin(world: &impl World, whose: u8, execution: &Execution) -> Begun {
    let owner = owner(whose);
    let begun = world.store().begin(&owner, execution, Listed::Yes).await;
    begun.expect("begun")
}

async fn list(
    world: &impl World,
    whose: u8,
    after: Option<&Execution>,
    most: usize,
) -> Vec<String> {
    let after = after.map(|it| ListedAfter {
        created: it.created,
        id: it.key.request.clone(),
    });
    let listed = world
        .store()
        .list(&owner(whose), after.as_ref(), most)
        .await;
    let listed = listed.expect("a list").into_iter();
    listed.map(|it| it.key.request.to_string()).collect()
}

pub(super) async fn an_execution_is_begun_once_and_known_again(world: &impl World) {
    let first = execution("a", created(0));
    assert_eq!(begin(world, 1, &first).await, Begun::New);
    let again = execution("a", created(5));
    assert_eq!(begin(world, 1, &again).await, Begun::Same(first.clone()));
    let found = world.store().find(&owner(1), &first.key.request).await;
    assert_eq!(found.expect("an answer"), Some(first));
    assert_eq!(list(world, 1, None, 10).await, ["a"]);
}

pub(super) async fn another_request_under_the_same_id_is_a_conflict(world: &impl World) {
    let first = execution("a", created(0));
    begin(world, 1, &first).await;
    let other = Execution {
        fingerprint: Fingerprint::of_bytes(b"translate that"),
        ..first.clone()
    };
    assert_eq!(begin(world, 1, &other).await, Begun::Conflict);
    let found = world.store().find(&owner(1), &first.key.request).await;
    assert_eq!(found.expect("an answer"), Some(first));
}

pub(super) async fn nobody_finds_or_lists_what_is_anothers(world: &impl World) {
    let mine = execution("a", created(0));
    begin(world, 1, &mine).await;
    let found = world.store().find(&owner(2), &mine.key.request).await;
    assert_eq!(found.expect("an answer"), None);
    assert!(list(world, 2, None, 10).await.is_empty());
    // Not even whoever takes the same id learns of it.
    assert_eq!(begin(world, 2, &mine).await, Begun::New);
}

pub(super) async fn a_list_goes_on_where_it_was_left(world: &impl World) {
    let at = created(0);
    let later = WallTime::from_unix_millis(at.unix_millis() + 1);
    // Three of one millisecond, and one after them.
    for (id, at) in [("b", at), ("c", at), ("a", at), ("d", later)] {
        begin(world, 1, &execution(id, at)).await;
    }
    assert_eq!(list(world, 1, None, 2).await, ["d", "c"]);
    assert_eq!(list(world, 1, Some(&execution("c", at)), 1).await, ["b"]);
    assert_eq!(list(world, 1, Some(&execution("b", at)), 10).await, ["a"]);
    assert!(
        list(world, 1, Some(&execution("a", at)), 10)
            .await
            .is_empty()
    );
}

pub(super) async fn what_is_not_listed_is_found_by_its_id_alone(world: &impl World) {
    let hidden = execution("a", created(0));
    let begun = world.store().begin(&owner(1), &hidden, Listed::No).await;
    assert_eq!(begun.expect("begun"), Begun::New);
    assert!(list(world, 1, None, 10).await.is_empty());
    let found = world.store().find(&owner(1), &hidden.key.request).await;
    assert_eq!(found.expect("an answer"), Some(hidden));
}

pub(super) async fn the_oldest_of_very_many_are_listed_no_longer(world: &impl World) {
    let at = created(0).unix_millis();
    let number = |number: usize| u64::try_from(number).expect("small");
    for at_once in (0..LISTED_MAX + 3).collect::<Vec<_>>().chunks(500) {
        let begun = at_once.iter().map(|it| async move {
            let at = WallTime::from_unix_millis(at + number(*it));
            begin(world, 1, &execution(&format!("{it:06}"), at)).await
        });
        futures_util::future::join_all(begun).await;
    }
    let listed = list(world, 1, None, LISTED_MAX + 10).await;
    assert_eq!(listed.len(), LISTED_MAX);
    assert_eq!(listed.last().map(String::as_str), Some("000003"));
    // What is listed no longer is there all the same.
    let oldest = execution("000000", created(0)).key.request;
    let found = world.store().find(&owner(1), &oldest).await;
    assert!(found.expect("an answer").is_some());
}
