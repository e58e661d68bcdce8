//! A stalled store, on a paused clock, over the twin.

use std::sync::Arc;

use tokio::{sync::watch, time::Instant};

use super::*;
use crate::{
    clock::{Chance, Clock, WallTime},
    contract::{Deadline, Fingerprint},
    pipeline::Session,
    store::{AckToken, Claim, ClaimAnswer, RecordState, SessionId, Sessions as _, twin::StoreTwin},
};

fn key(id: &str) -> RequestKey {
    RequestKey {
        target: "echo".parse().unwrap(),
        request: id.parse().unwrap(),
    }
}

struct World {
    clock: Clock,
    store: StoreTwin,
    session: SessionId,
    in_flight: InFlight,
}

impl World {
    async fn claim(&self, id: &str) -> Nonce {
        let nonce = Nonce::fresh(&Chance::system());
        let claimed = self.store.claim(Claim {
            key: key(id),
            correlation: "c".parse().unwrap(),
            fingerprint: Fingerprint::of_bytes(b"{}"),
            session: self.session.clone(),
            nonce,
            ack: AckToken::new("ack"),
            deadline: Deadline::of(self.clock.now(), Duration::from_secs(600), None),
        });
        let claimed = claimed.await;
        assert!(
            matches!(claimed, Ok(ClaimAnswer::Claimed(_))),
            "{claimed:?}"
        );
        nonce
    }

    async fn renew_for(&self, time: Duration) {
        for _ in 0..time.as_secs() {
            self.clock.advance(Duration::from_secs(1));
            sleep(Duration::from_secs(1)).await;
            self.store.renew(&self.session).await.unwrap();
        }
    }

    fn is_released(&self, id: &str) -> bool {
        self.store.record(&key(id)).unwrap().state == RecordState::Released
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_a_stalled_store_made_late_is_given_back_and_no_other() {
    let clock = Clock::manual(WallTime::from_unix_millis(1_000_000));
    let world = World {
        store: StoreTwin::new(clock.clone()),
        clock,
        session: SessionId::fresh(&Chance::seeded(1)),
        in_flight: InFlight::default(),
    };
    let served = ["echo".parse().unwrap()];
    world
        .store
        .open(&world.session, "w", &served)
        .await
        .unwrap();
    let good_for = Duration::from_secs(3_600);
    let session = Session::new(world.session.clone(), Instant::now(), good_for);
    let (_announced, sessions) = watch::channel(Some(Arc::new(session)));
    let metrics = Metrics::new([]);
    let audit = Audit {
        store: world.store.clone(),
        in_flight: world.in_flight.clone(),
        sessions: SessionWatch::new(sessions),
        metrics: metrics.clone(),
    };
    let auditing = tokio::spawn(audit.run());
    world.claim("nobody's").await;
    world.claim("ours").await;
    let _flight = world.in_flight.walking_with(&key("ours"));

    world.renew_for(LOOK_EVERY + LOOK_EVERY / 2).await;
    world.claim("new").await;
    assert!(!world.is_released("nobody's"), "seen once");
    world.renew_for(LOOK_EVERY).await;

    assert!(world.is_released("nobody's"));
    assert!(!world.is_released("ours") && !world.is_released("new"));
    let counted = "puruto_claims_found_total 1";
    assert!(metrics.render().lines().any(|line| line == counted));
    auditing.abort();
}
