//! What lets one worker end the session of another that died.

use std::time::Duration;

use puruto_fleet::{
    contract::PurutoName,
    store::{
        Attempt, Carried, ClaimAnswer, Claims as _, Registered, Renewal, Sessions as _, Supervision,
    },
};
use tokio::time::timeout;

use super::world::{Worker, World, done, request};

const SHORT: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_secs(60);

/// What the roster says of a worker: whether it lives, and whether it answers pings.
async fn listed<W: World>(world: &W, worker: &Worker<W::Store>) -> Option<(bool, bool)> {
    let roster = world.store().roster().await.expect("an answer");
    let found = roster.into_iter().find(|it| it.session == worker.session);
    found.map(
        |Registered {
             lives,
             answers_pings,
             ..
         }| (lives, answers_pings),
    )
}

/// Evicts to the end; how much was given back.
async fn bury<S: Supervision>(store: &S, dead: &Worker<impl Sized>) -> usize {
    let (mut given_back, mut total) = (Vec::new(), 0);
    loop {
        let held = store.evict(&dead.session, &given_back).await;
        let held = held.expect("an answer");
        if held.is_empty() {
            return total;
        }
        total += held.len();
        given_back = held.into_iter().map(|(request, _)| request).collect();
    }
}

pub(super) async fn one_leads_until_its_lease_ends(world: &impl World) {
    let (one, other) = (world.worker().await, world.worker().await);
    let lead = async |worker: &Worker<_>, lease| world.store().lead(&worker.session, lease).await;
    assert_eq!(lead(&one, LONG).await, Ok(true));
    assert_eq!(lead(&other, LONG).await, Ok(false));
    assert_eq!(lead(&one, SHORT).await, Ok(true));
    let in_turn = async {
        while lead(&other, LONG).await != Ok(true) {
            tokio::time::sleep(SHORT).await;
        }
    };
    timeout(LONG, in_turn).await.expect("the lease ends");
    assert_eq!(lead(&one, LONG).await, Ok(false));
}

pub(super) async fn the_roster_tells_who_lives_and_who_answers(world: &impl World) {
    let (one, other) = (world.worker().await, world.worker().await);
    one.store
        .answers_pings(&one.session)
        .await
        .expect("an answer");
    assert_eq!(listed(world, &one).await, Some((true, true)));
    assert_eq!(listed(world, &other).await, Some((true, false)));

    world.expire(&other.session).await;
    other
        .store
        .answers_pings(&other.session)
        .await
        .expect("an answer");
    assert_eq!(listed(world, &other).await, Some((false, false)));
    one.store.close(&one.session).await.expect("closed");
    assert_eq!(listed(world, &one).await, None);
}

pub(super) async fn a_session_says_which_claims_it_has_and_under_which_nonce(world: &impl World) {
    let (one, other) = (world.worker().await, world.worker().await);
    assert_eq!(world.store().held(&one.session).await, Ok(Vec::new()));
    let (nonce, _) = one.take(&request("r:1")).await;
    one.answer(&request("done"), b"result").await;
    other.take(&request("other")).await;
    let held = world.store().held(&one.session).await;
    assert_eq!(held, Ok(vec![(request("r:1"), nonce)]));
    one.store
        .release(&request("r:1"), nonce, &Carried::default())
        .await
        .expect("ok");
    assert_eq!(world.store().held(&one.session).await, Ok(Vec::new()));
}

pub(super) async fn each_session_says_what_it_serves_until_it_is_forgotten(world: &impl World) {
    let (one, other) = (world.worker().await, world.worker().await);
    let names = |names: &[&str]| -> Vec<PurutoName> {
        let names = names.iter().map(|it| it.parse().expect("a name"));
        names.collect()
    };
    let (echo, both) = (names(&["echo"]), names(&["echo", "puruto-financial"]));
    let opened = other.store.open(&other.session, "host-2", &both).await;
    opened.expect("an epoch");
    let sessions = [other.session.clone(), one.session.clone()];
    let serving = async || world.store().serving(&sessions).await.expect("an answer");
    assert_eq!(serving().await, [both.clone(), echo.clone()]);
    assert_eq!(world.store().serving(&[]).await, Ok(Vec::new()));

    world.expire(&other.session).await;
    assert_eq!(serving().await, [both, echo]);
    bury(world.store(), &other).await;
    one.store.close(&one.session).await.expect("closed");
    assert_eq!(serving().await, [vec![], vec![]]);
}

pub(super) async fn a_target_was_served_or_never_was(world: &impl World) {
    let gone = world.worker().await;
    gone.store.close(&gone.session).await.expect("closed");
    let names = ["never", "echo"].map(|it| it.parse().expect("a name"));
    let known = world.store().ever_served(&names).await;
    assert_eq!(known, Ok(vec![false, true]));
    assert_eq!(world.store().ever_served(&[]).await, Ok(Vec::new()));
}

pub(super) async fn an_evicted_session_is_fenced_and_gives_back_all_that_it_held(
    world: &impl World,
) {
    let (dead, heir) = (world.worker().await, world.worker().await);
    dead.store
        .answers_pings(&dead.session)
        .await
        .expect("an answer");
    for n in 0..300 {
        dead.take(&request(&format!("r:{n}"))).await;
    }
    assert_eq!(bury(world.store(), &dead).await, 300);

    assert_eq!(listed(world, &dead).await, None);
    assert_eq!(dead.store.renew(&dead.session).await, Ok(Renewal::Fenced));
    assert_eq!(dead.ask(&request("new")).await.1, ClaimAnswer::Fenced);
    let (_, taken) = heir.take(&request("r:7")).await;
    assert_eq!(taken.attempt, Attempt::new(2));
    assert_eq!(bury(world.store(), &dead).await, 0);
    assert_eq!(listed(world, &heir).await, Some((true, false)));
}

pub(super) async fn an_eviction_is_finished_by_whoever_comes_next(world: &impl World) {
    let (dead, heir) = (world.worker().await, world.worker().await);
    let keys = ["1", "2", "3"].map(request);
    for key in &keys {
        dead.take(key).await;
    }
    let evict = async |given_back: &[_]| {
        let held = world.store().evict(&dead.session, given_back).await;
        let mut held = held.expect("an answer");
        held.sort_by(|(one, _), (other, _)| one.cmp(other));
        held.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
    };
    assert_eq!(evict(&[]).await, keys);
    assert_eq!(evict(&[]).await, keys);
    assert_eq!(listed(world, &dead).await, Some((false, false)));

    heir.take(&keys[0]).await;
    assert_eq!(evict(&keys[1..2]).await, keys[2..]);
    assert_eq!(listed(world, &dead).await, Some((false, false)));
    assert_eq!(evict(&keys[2..]).await, []);
    assert_eq!(listed(world, &dead).await, None);
}

pub(super) async fn what_was_committed_before_the_death_stays(world: &impl World) {
    let (dead, heir) = (world.worker().await, world.worker().await);
    dead.answer(&request("1"), b"result").await;
    assert_eq!(bury(world.store(), &dead).await, 1);

    assert_eq!(heir.ask(&request("1")).await.1, done(Some(b"result")));
    heir.store.settle(&request("1")).await.expect("settled");
    assert_eq!(heir.ask(&request("1")).await.1, done(None));
}
