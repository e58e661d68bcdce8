//! The session's life on a paused clock, over the store's twin.

use super::*;
use crate::{
    clock::{Clock, WallTime},
    store::twin::{Fault, Op, StoreTwin},
};

const TTL: Duration = Duration::from_secs(16);

struct Beating {
    store: StoreTwin,
    clock: Clock,
    own_clock: Clock,
    opened: mpsc::UnboundedReceiver<(Arc<Session>, Epoch)>,
    stop: CancellationToken,
    beat: tokio::task::JoinHandle<()>,
}

fn start() -> Beating {
    let clock = Clock::manual(WallTime::from_unix_millis(1_000_000));
    // Ten minutes fast.
    let own_clock = Clock::manual(WallTime::from_unix_millis(1_600_000));
    let store = StoreTwin::new(clock.clone());
    let (opened, opened_rx) = mpsc::unbounded_channel();
    let stop = CancellationToken::new();
    let heartbeat = Heartbeat {
        worker: "w".to_owned(),
        targets: vec!["t".parse().unwrap()],
        times: HeartbeatTimes {
            ttl: TTL,
            every: TTL / 4,
            margin: TTL / 5,
        },
        clock: own_clock.clone(),
        chance: Chance::seeded(1),
        opened,
        cancelled: mpsc::unbounded_channel().0,
        stop: stop.clone(),
        metrics: Metrics::new([]),
    };
    let twin = store.clone();
    let beat = tokio::spawn(heartbeat.run(move || {
        let store = twin.clone();
        async move { Ok(store) }
    }));
    Beating {
        store,
        clock,
        own_clock,
        opened: opened_rx,
        stop,
        beat,
    }
}

impl Beating {
    async fn opened(&mut self) -> Arc<Session> {
        self.opened.recv().await.expect("a session").0
    }

    /// Lets time pass in small steps, on both clocks.
    async fn pass(&self, time: Duration) {
        let step = Duration::from_millis(100);
        for _ in 0..time.as_millis() / step.as_millis() {
            self.clock.advance(step);
            sleep(step).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_renewed_lives_on_and_is_closed_at_the_end() {
    let mut beating = start();
    let session = beating.opened().await;
    beating.pass(TTL * 10).await;
    assert!(session.is_live());
    beating.stop.cancel();
    beating.beat.await.expect("ends");
    assert!(session.fenced.is_cancelled());
    assert!(matches!(
        beating.store.renew(&session.id).await,
        Ok(Renewal::Fenced)
    ));
}

#[tokio::test(start_paused = true)]
async fn three_renewals_may_fail_and_nothing_is_lost() {
    let mut beating = start();
    let session = beating.opened().await;
    for _ in 0..3 {
        beating.store.fail_next(Op::Renew, Fault::BeforeEffect);
    }
    beating.pass(TTL * 2).await;
    assert!(session.is_live());
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_cannot_renew_fences_itself_before_the_store_lets_go() {
    let mut beating = start();
    let session = beating.opened().await;
    for _ in 0..1_000 {
        beating.store.fail_next(Op::Renew, Fault::BeforeEffect);
    }
    beating.pass(TTL).await;
    assert!(session.fenced.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_session_that_the_store_lost_is_fenced_and_followed_by_a_new_one() {
    let mut beating = start();
    let first = beating.opened().await;
    beating.store.empty();
    beating.pass(TTL / 2).await;
    assert!(first.fenced.is_cancelled());
    let second = beating.opened().await;
    assert!(second.is_live() && second.id != first.id);
}

#[tokio::test(start_paused = true)]
async fn a_workers_clock_that_is_wrong_or_stepped_follows_the_stores() {
    let mut beating = start();
    let session = beating.opened().await;
    assert_eq!(beating.own_clock.now(), beating.clock.now());

    beating.own_clock.advance(Duration::from_secs(600));
    beating.pass(TTL / 3).await;

    let apart = beating.clock.now().since(beating.own_clock.now());
    assert!(apart < Duration::from_secs(6), "{apart:?}");
    assert!(beating.own_clock.now() <= beating.clock.now());
    assert!(session.is_live());
}
