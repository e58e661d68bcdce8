//! Workers that are stopped in the middle of a request until another has taken it over, and go on.
//!
//! `PURUTO_STALLS` says how often, for a longer run than that of every day.
//! Seen elsewhere: bull #308 and #311, where both completed it; a late NAK of the old owner, which
//! had a third worker run it.

use rustix::process::Signal;

use crate::{
    crash::{holder_first, told},
    fleet::Fleet,
    patience::{as_often_as, until},
    support::say,
    wire::{RESULTS, request},
};

/// Takes a second for anything; one worker is enough for each request.
const CLERK: (&str, &str) = (
    "clerk",
    "concurrency = 2\n[model]\nprovider = \"simulated\"\nlatency = \"1s\"",
);
const COMMITTED: &str = "puruto_commits_total{outcome=\"committed\",target=\"clerk\"}";
const IN_FLIGHT: &str = "puruto_in_flight{target=\"clerk\"}";

/// What is said to the broker of a first delivery; the one who took over has the second.
const FIRST_DELIVERIES: &str = "$JS.ACK.PURUTO_INVOKE.clerk.1.>";

#[tokio::test]
async fn a_worker_that_stalled_past_its_session_commits_nothing_and_tells_the_broker_nothing() {
    let fleet = Fleet::of(&[CLERK]).await.with_quick_take_over();
    let mut workers = (fleet.worker("w1").await, fleet.worker("w2").await);
    let wire = fleet.wire().await;
    let mut heard = wire.listen("puruto.result.>").await;
    let stalls = as_often_as("PURUTO_STALLS", 2);
    for stall in 1..=stalls {
        let asked = request(&format!("r-{stall}"), "clerk", "Hello");
        wire.ask(&asked).await;
        let (holder, other) = holder_first(workers.0, workers.1).await;
        let committed = holder.count(COMMITTED).await;

        holder.signal(Signal::STOP);
        let answer = heard.next().await;
        let mut acks = wire.listen(FIRST_DELIVERIES).await;
        holder.signal(Signal::CONT);
        until("the stalled worker has seen what it missed", async || {
            (holder.count(IN_FLIGHT).await == 0).then_some(())
        })
        .await;
        holder.until_ready().await;
        wire.until_all_is_done().await;

        let by_other = (other.name().to_owned(), "2".to_owned());
        assert_eq!(told(answer.headers.as_ref()), by_other, "stall {stall}");
        assert_eq!(holder.count(COMMITTED).await, committed, "stall {stall}");
        assert!(heard.nothing_more(&wire).await, "stall {stall}");
        assert!(acks.nothing_more(&wire).await, "stall {stall}");
        let stored = wire.result(&asked).await;
        assert_eq!(stored.payload, answer.payload, "stall {stall}");
        assert_eq!(wire.messages(RESULTS).await, stall);
        workers = (holder, other);
    }
    say(&format!("{stalls} stalls, each with one result"));
}
