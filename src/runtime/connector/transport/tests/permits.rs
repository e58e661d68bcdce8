//! Who gets a connection, in which order, and what is left of it afterwards.

use futures_util::future::join_all;
use proptest::{collection::vec, prelude::*, test_runner::TestCaseResult};
use tokio::{runtime::Builder, task::yield_now, time::timeout};

use super::*;
use crate::runtime::{breaker::Ended, connector::transport::Permit, fault::Phase};

fn rules(in_all: u16, per_host: u16) -> PoolRules {
    PoolRules {
        connections: limit(in_all),
        connections_per_host: limit(per_host),
        ..PoolRules::default()
    }
}

fn pool(rules: PoolRules) -> (Pool, Arc<Counts>) {
    let counts = Arc::<Counts>::default();
    (
        Pool::new("openai", rules, Arc::<Counts>::clone(&counts)),
        counts,
    )
}

#[tokio::test(start_paused = true)]
async fn permits_go_to_whoever_asked_first() {
    let (pool, _) = pool(rules(1, 1));
    let host = pool.host(Origin::new("a"));
    let first = host.acquire(seconds(60)).await.expect("free");
    let order = Mutex::new(Vec::new());
    let waiting = join_all((0..20).map(|nth| {
        let (host, order) = (&host, &order);
        async move {
            let permit = host.acquire(seconds(60)).await.expect("in time");
            order.lock().expect("unpoisoned").push(nth);
            drop(permit);
        }
    }));
    let end = async {
        yield_now().await;
        drop(first);
    };
    tokio::join!(waiting, end);
    let order = order.into_inner().expect("unpoisoned");
    assert_eq!(order, (0..20).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn calls_to_a_full_host_take_nothing_that_others_could_use() {
    let (pool, counts) = pool(rules(3, 1));
    let [full, other, third] = ["a", "b", "c"].map(|name| pool.host(Origin::new(name)));
    let _held = full.acquire(seconds(60)).await.expect("free");
    let crowd = join_all((0..50).map(|_| full.acquire(seconds(5))));
    let others = async {
        yield_now().await;
        let one = other
            .acquire(seconds(1))
            .await
            .expect("there is room for b");
        let two = third
            .acquire(seconds(1))
            .await
            .expect("there is room for c");
        assert_eq!(counts.active(), 3);
        drop((one, two));
    };
    let (crowd, ()) = tokio::join!(crowd, others);
    assert!(crowd.iter().all(Result::is_err), "the host stayed full");
    assert_eq!(counts.waits.load(Ordering::SeqCst), 53, "vain waits too");
}

#[tokio::test(start_paused = true)]
async fn a_wait_in_vain_says_that_our_own_connections_are_all_in_use() {
    let (pool, _) = pool(PoolRules {
        acquire_timeout: seconds(7),
        ..rules(1, 1)
    });
    let host = pool.host(Origin::new("a"));
    let _held = host.acquire(seconds(60)).await.expect("free");
    for (limit, after) in [(60, 7), (3, 3)] {
        let fault = host.acquire(seconds(limit)).await.expect_err("full");
        let expected = Fault::Timeout {
            phase: Phase::Acquire,
            after: seconds(after),
        };
        assert_eq!(fault, expected);
        assert_eq!(fault.health(), Ended::Neutral, "no server was asked");
        assert!(
            fault.to_string().contains("connections_per_host"),
            "{fault}"
        );
    }
}

type Waiting<'w> = BoxFuture<'w, Result<Permit, Fault>>;

/// One step of somebody who uses a pool of two hosts.
#[derive(Clone, Debug)]
enum Step {
    Ask(bool),
    /// Gives back one of the permits that are held.
    GiveBack(usize),
    /// No longer waits.
    GiveUp(usize),
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => any::<bool>().prop_map(Step::Ask),
        2 => any::<usize>().prop_map(Step::GiveBack),
        1 => any::<usize>().prop_map(Step::GiveUp),
        1 => (0..40_u64).prop_map(Step::Pass),
    ]
}

/// Lets everybody who waits come as far as there is room. One round is not enough: whoever gives up
/// makes room for one whose turn in that round is over.
async fn settle(waiting: &mut Vec<Waiting<'_>>, held: &mut Vec<Permit>) {
    loop {
        let before = waiting.len();
        let mut still = Vec::new();
        for mut wait in waiting.drain(..) {
            match timeout(Duration::ZERO, &mut wait).await {
                Ok(Ok(permit)) => held.push(permit),
                Ok(Err(_)) => {}
                Err(_) => still.push(wait),
            }
        }
        *waiting = still;
        if waiting.len() == before {
            return;
        }
    }
}

async fn counts_hold(steps: Vec<Step>, in_all: u16, per_host: u16) -> TestCaseResult {
    let (pool, counts) = pool(rules(in_all, per_host));
    let hosts = ["a", "b"].map(|name| pool.host(Origin::new(name)));
    let mut held: Vec<Permit> = Vec::new();
    let mut waiting: Vec<Waiting<'_>> = Vec::new();
    for step in steps {
        match step {
            Step::Ask(second) => {
                let host = hosts.get(usize::from(second)).expect("two hosts");
                waiting.push(Box::pin(host.acquire(seconds(30))));
            }
            Step::GiveBack(nth) if !held.is_empty() => drop(held.swap_remove(nth % held.len())),
            Step::GiveUp(nth) if !waiting.is_empty() => {
                drop(waiting.swap_remove(nth % waiting.len()));
            }
            Step::Pass(by) => tokio::time::advance(seconds(by)).await,
            Step::GiveBack(_) | Step::GiveUp(_) => {}
        }
        settle(&mut waiting, &mut held).await;
        prop_assert_eq!(counts.active(), i64::try_from(held.len()).expect("few"));
        prop_assert!(held.len() <= usize::from(in_all));
        // Nobody waits while there is room for them.
        let full = held.len() == usize::from(in_all);
        prop_assert!(waiting.is_empty() || full || held.len() >= usize::from(per_host));
    }
    drop((held, waiting));
    prop_assert_eq!(counts.active(), 0);
    for host in &hosts {
        prop_assert_eq!(host.free(), (in_all.into(), per_host.into()));
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_permit_comes_back_whatever_is_dropped_when(
        steps in vec(step(), 0..60),
        in_all in 1..5_u16,
        per_host in 1..4_u16,
    ) {
        let paused = Builder::new_current_thread().enable_time().start_paused(true).build();
        paused.expect("a runtime").block_on(counts_hold(steps, in_all, per_host))?;
    }
}
