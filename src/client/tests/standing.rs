//! Where a request stands, its cancel, and the results of a chain.

use super::*;

#[tokio::test]
async fn a_status_says_honestly_that_nothing_is_known() {
    let world = World::new().await;
    assert_eq!(world.client.status(&request(), None).await, Ok(Vec::new()));
    assert_eq!(world.client.result(&request(), None).await, Ok(None));
}

#[tokio::test]
async fn a_running_request_says_who_has_it_and_a_done_one_its_result() {
    let world = World::new().await;
    world.work(None).await;
    let status = world
        .client
        .status(&request(), None)
        .await
        .unwrap()
        .remove(0);
    assert_eq!(status.target, Some(key().target));
    assert_eq!(
        (status.attempts, status.correlation),
        (Some(1), Some(correlation()))
    );
    let claimed = Standing::Claimed {
        owner: world.session.clone(),
        owner_alive: true,
        cancelled: false,
    };
    assert_eq!(status.standing, claimed);

    world.work(Some(&done("committed"))).await;
    let result = world.client.result(&request(), Some(&key().target)).await;
    assert_eq!(summary_of(result.unwrap().unwrap()), "committed");
}

#[tokio::test]
async fn a_tombstones_result_is_read_from_the_stream_and_so_is_a_forgotten_records() {
    let world = World::new().await;
    world.exchange.store(ours());
    let forgotten = world
        .client
        .status(&request(), None)
        .await
        .unwrap()
        .remove(0);
    assert_eq!(
        (forgotten.target, forgotten.attempts),
        (Some(key().target), Some(2))
    );

    world.work(Some(&done("committed"))).await;
    world.store.settle(&key()).await.unwrap();
    let result = world.client.result(&request(), None).await.unwrap();
    assert_eq!(summary_of(result.unwrap()), "ours");
    let elsewhere = "puruto-research".parse().unwrap();
    assert_eq!(
        world.client.result(&request(), Some(&elsewhere)).await,
        Ok(None)
    );
}

#[tokio::test]
async fn a_cancel_flags_the_record_and_tells_the_worker_that_has_it() {
    let world = World::new().await;
    let unknown = world.client.cancel(&request(), None).await.unwrap_err();
    assert_eq!(unknown, ClientFault::TargetUnknown { request: request() });

    world.work(None).await;
    let cancelled = world.client.cancel(&request(), None).await.unwrap();
    let owned = Cancelled {
        key: key(),
        answer: CancelAnswer::Owned(world.session.clone()),
    };
    assert_eq!(cancelled, [owned]);
    assert_eq!(world.exchange.announced(), [key()]);
}

#[tokio::test]
async fn a_request_that_no_worker_has_seen_can_be_cancelled_by_its_target() {
    let world = World::new().await;
    let cancelled = world.client.cancel(&request(), Some(&key().target)).await;
    let flagged = Cancelled {
        key: key(),
        answer: CancelAnswer::Flagged,
    };
    assert_eq!(cancelled, Ok(vec![flagged]));
    let status = world
        .client
        .status(&request(), None)
        .await
        .unwrap()
        .remove(0);
    assert_eq!(status.standing, Standing::Flagged);
}

#[tokio::test(start_paused = true)]
async fn a_watch_gives_each_result_once_those_before_and_those_after() {
    let world = World::new().await;
    world.exchange.store(theirs());
    let mut watch = world.client.watch(&correlation()).await.unwrap();
    assert_eq!(watch.next().await, Ok(theirs()));
    let child = Subjects::default().result(&correlation(), &"child".parse().unwrap());
    let child = message(child, fingerprint(), &done("child"));
    world.exchange.publish(&child);
    assert_eq!(watch.next().await, Ok(child));

    // One whose arrival was lost.
    let late = Subjects::default().result(&correlation(), &"late".parse().unwrap());
    let late = message(late, fingerprint(), &done("late"));
    world.exchange.store(late.clone());
    let next = tokio::time::timeout(Duration::from_secs(6), watch.next());
    assert_eq!(next.await, Ok(Ok(late)));
}
