//! As many dead letters as dead requests, however often each was buried.

use std::collections::BTreeSet;

use puruto_fleet::{
    broker::twin::{FailAt, Operation},
    store::MAX_ATTEMPTS,
};

use crate::{scenario::body_of, world::World};

const DEAD: usize = 200;

#[tokio::test(start_paused = true)]
async fn two_hundred_requests_that_kill_their_workers_leave_two_hundred_letters() {
    let world = World::new();
    for number in 0..DEAD {
        world.publish(&body_of(&format!("r-{number}"), "pay", "pay_invoice"));
        for _ in 0..MAX_ATTEMPTS.number() {
            world.kill_whoever_claims_next().await;
        }
        if number % 3 == 0 {
            world.broker.fail_next(Operation::Bury, FailAt::AfterEffect);
        }
        world.finish().await;
    }

    let letters = world.broker.dead_letters().into_iter();
    let dead: Vec<_> = letters.filter_map(|it| it.letter.request).collect();
    assert_eq!(dead.len(), DEAD);
    assert_eq!(dead.iter().collect::<BTreeSet<_>>().len(), DEAD);
    assert_eq!(world.broker.results().len(), DEAD);
    assert_eq!(world.executions(), 0);
}
