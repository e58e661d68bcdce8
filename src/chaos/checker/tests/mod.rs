//! The checker is shown a clean history, and one for each way of breaking a rule.

mod delegation;
mod family;
mod gaps;
mod tale;

use std::time::Duration;

use self::tale::{
    Tale, accepted, acked, claimed, committed, committing, flagged, heard, published, publishing,
    refused, stands, started,
};
use super::*;
use crate::{
    chaos::{
        history::{Digest, Event},
        schedule::{Fault, Hostile, Place},
    },
    contract::ErrorCode,
};

const TERMS: Terms = Terms {
    slack: Duration::from_millis(50),
    grace: Duration::from_secs(5),
    linger: Duration::from_secs(2),
    attempts_max: 5,
    wakes_within: Duration::from_secs(10),
    ends_within: Duration::from_secs(5),
    bounds: Bounds {
        children: 3,
        descendants: 4,
        depth: 2,
        bytes: 1_000,
    },
};

/// From the claim at `millis` until it is committed.
fn runs(tale: Tale, millis: u64, (worker, claim, digest): (&str, &str, &str)) -> Tale {
    tale.at(millis, claimed(worker, claim, millis))
        .at(millis + 2, started(worker, claim))
        .at(millis + 100, committing(worker, claim))
        .at(millis + 102, committed(worker, claim, digest))
}

/// From there until the message is gone.
fn tells(tale: Tale, millis: u64, (worker, digest): (&str, &str)) -> Tale {
    tale.at(millis, publishing(worker, digest))
        .at(millis + 2, heard(digest))
        .at(millis + 3, published(worker))
        .at(millis + 5, acked(worker))
}

fn clean() -> Tale {
    let tale = Tale::default().at(0, accepted());
    let tale = runs(tale, 10, ("w1", "c1", "d1"));
    tells(tale, 120, ("w1", "d1"))
        .at(20_000, Event::Calm)
        .at(20_001, stands("d1", None))
}

/// W1 was asleep from 20 on while w2 took over and ended the request.
fn taken_over() -> Tale {
    let fault = Fault::PauseWorker {
        place: Place(0),
        past_session: true,
    };
    let tale = Tale::default()
        .at(0, accepted())
        .at(10, claimed("w1", "c1", 10))
        .at(12, started("w1", "c1"))
        .struck((20, 5_000), fault, Some("w1"));
    let tale = runs(tale, 3_000, ("w2", "c2", "d2"));
    tells(tale, 3_110, ("w2", "d2"))
        .at(5_001, committing("w1", "c1"))
        .at(20_000, Event::Calm)
        .at(20_001, stands("d2", None))
}

#[test]
fn a_clean_history_breaks_nothing() {
    clean().breaks(&[]);
    taken_over().at(5_002, refused("w1", "c1")).breaks(&[]);
    let figures = clean().verdict().figures;
    assert_eq!((figures.accepted, figures.executions), (1, 1));
    assert_eq!(figures.endings.get("ok"), Some(&1));
}

#[test]
fn a_store_that_checks_no_nonce_commits_twice_and_under_an_old_claim() {
    taken_over()
        .at(5_002, committed("w1", "c1", "d1"))
        .breaks(&[Rule::CommittedTwice, Rule::CommittedUnderAnOldClaim]);
}

#[test]
fn a_commit_that_nobody_was_granted_is_one_under_an_old_claim() {
    let is_claim = |it: &Event| matches!(it, Event::Claimed { .. });
    clean()
        .without(is_claim)
        .breaks(&[Rule::CommittedUnderAnOldClaim]);
}

#[test]
fn an_emptied_store_may_commit_again_and_the_first_published_stands() {
    let tale = Tale::default().at(0, accepted());
    let tale = runs(tale, 10, ("w1", "c1", "d1")).struck((115, 116), Fault::EmptyRedis, None);
    let tale = runs(tale, 200, ("w2", "c2", "d2"));
    let tale = tells(tale, 310, ("w1", "d1"));
    tells(tale, 320, ("w2", "d2"))
        .at(20_000, Event::Calm)
        .at(20_001, stands("d1", None))
        .breaks(&[]);
}

#[test]
fn a_commit_that_its_worker_learns_of_late_may_have_been_forgotten_before_the_next() {
    let begun = |begun| {
        let begins = |it: &Event| *it == committing("w1", "c1");
        taken_over()
            .without(begins)
            .at(begun, committing("w1", "c1"))
            .at(5_002, committed("w1", "c1", "d1"))
            .struck((1_000, 1_001), Fault::EmptyRedis, None)
    };
    begun(18).breaks(&[]);
    // Begun only after the store had been emptied, it is a second one.
    begun(4_000).breaks(&[Rule::CommittedTwice, Rule::CommittedUnderAnOldClaim]);
}

#[test]
fn a_worker_that_publishes_from_memory_sends_what_was_not_committed() {
    taken_over()
        .at(5_002, refused("w1", "c1"))
        .at(5_003, publishing("w1", "d1"))
        .breaks(&[Rule::PublishedOtherBytes]);
}

#[test]
fn what_stands_and_was_never_committed_is_other_bytes_and_a_changed_answer() {
    let is_read = |it: &Event| matches!(it, Event::Stands { .. });
    clean()
        .without(is_read)
        .at(20_001, stands("d9", None))
        .breaks(&[Rule::PublishedOtherBytes, Rule::AnswerChanged]);
}

#[test]
fn a_worker_that_is_refused_after_another_published_its_commit_is_not_accused() {
    let tale = Tale::default()
        .at(0, accepted())
        .at(10, claimed("w1", "c1", 10))
        .at(12, started("w1", "c1"))
        // The store stands still: the call times out, and is carried out when it goes on.
        .at(20, committing("w1", "c1"));
    let tale = tells(tale, 600, ("w2", "d1"))
        .at(700, refused("w1", "c1"))
        .at(20_000, Event::Calm)
        .at(20_001, stands("d1", None));
    tale.breaks(&[]);
}

#[test]
fn a_worker_that_died_before_it_could_tell_of_its_commit_is_not_accused() {
    let tale = Tale::default()
        .at(0, accepted())
        .at(10, claimed("w1", "c1", 10))
        .at(12, started("w1", "c1"))
        .at(20, committing("w1", "c1"))
        .killed(21, "w1");
    let tale = tells(tale, 600, ("w2", "d1"))
        .at(20_000, Event::Calm)
        .at(20_001, stands("d1", None));
    tale.breaks(&[]);
    let recoveries = tale.verdict().figures.recoveries;
    assert_eq!(recoveries, [Duration::from_millis(581)]);
}

#[test]
fn an_ack_before_the_result_stands_leaves_the_request_unanswered() {
    clean().at(11, acked("w1")).breaks(&[Rule::LeftUnanswered]);
}

#[test]
fn an_ack_at_delivery_and_a_death_lose_the_request() {
    Tale::default()
        .at(0, accepted())
        .at(10, claimed("w1", "c1", 10))
        .at(11, acked("w1"))
        .killed(50, "w1")
        .at(20_000, Event::Calm)
        .breaks(&[Rule::LeftUnanswered, Rule::Lost]);
}

#[test]
fn a_request_whose_message_is_still_there_is_stuck_unless_it_is_recorded_as_dead() {
    let tale = Tale::default().at(0, accepted()).at(20_000, Event::Calm);
    let stuck = tale.clone().at(20_001, Event::LeftInStream { sequence: 7 });
    stuck.breaks(&[Rule::Stuck]);
    tale.at(20_001, Event::DeadLettered { sequence: 7 })
        .breaks(&[]);
}

#[test]
fn a_worker_whose_renewal_recreates_its_session_runs_what_has_its_answer() {
    let tale = clean().struck((200, 201), Fault::EmptyRedis, None);
    tale.clone().breaks(&[]);
    runs(tale, 900, ("w1", "c2", "d2"))
        .without(|it| matches!(it, Event::Committed { digest, .. } if *digest == Digest::new("d2")))
        .breaks(&[Rule::StartedAfterTheEnd]);
}

#[test]
fn nothing_starts_after_the_deadline_or_after_a_cancel() {
    let late = Tale::default()
        .at(0, accepted())
        .at(60_200, claimed("w1", "c1", 60_200))
        .at(60_201, started("w1", "c1"))
        .at(60_202, committing("w1", "c1"))
        .at(60_203, committed("w1", "c1", "d1"));
    tells(late, 60_210, ("w1", "d1"))
        .at(70_001, stands("d1", Some(ErrorCode::Timeout)))
        .breaks(&[Rule::StartedAfterTheEnd]);
    let cancelled = Tale::default().at(0, accepted()).at(5, flagged());
    let cancelled = runs(cancelled, 100, ("w1", "c1", "d1"));
    tells(cancelled, 210, ("w1", "d1"))
        .at(20_001, stands("d1", Some(ErrorCode::Cancelled)))
        .breaks(&[Rule::StartedAfterTheEnd]);
}

#[test]
fn a_cancel_that_took_hold_is_the_end_unless_the_store_forgot_it() {
    let tale = clean().at(20, flagged());
    tale.breaks(&[Rule::CancelIgnored]);
    tale.struck((25, 26), Fault::EmptyRedis, None).breaks(&[]);
}

#[test]
fn an_error_needs_its_reason() {
    let is_read = |it: &Event| matches!(it, Event::Stands { .. });
    let timed_out = stands("d1", Some(ErrorCode::Timeout));
    let tale = clean().without(is_read).at(20_001, timed_out);
    tale.breaks(&[Rule::WrongAnswer]);
}

#[test]
fn another_answer_heard_is_a_changed_one() {
    clean().at(130, heard("d9")).breaks(&[Rule::AnswerChanged]);
}

#[test]
fn a_result_long_after_the_calm_is_late() {
    let tale = Tale::default().at(0, accepted()).at(1_000, Event::Calm);
    let tale =
        runs(tale, 66_000, ("w1", "c1", "d1")).without(|it| matches!(it, Event::Started { .. }));
    tells(tale, 66_200, ("w1", "d1"))
        .at(70_000, stands("d1", None))
        .breaks(&[Rule::Late]);
}

#[test]
fn a_commit_that_is_never_published_is_told_as_that_and_as_lost() {
    let tale = Tale::default().at(0, accepted());
    runs(tale, 10, ("w1", "c1", "d1"))
        .at(20_000, Event::Calm)
        .breaks(&[Rule::Lost, Rule::NeverPublished]);
}

#[test]
fn an_execution_more_needs_a_fault() {
    let tale = clean()
        .at(40, claimed("w1", "c0", 5))
        .at(41, started("w1", "c0"));
    tale.breaks(&[Rule::TooManyExecutions]);
    tale.killed(30, "w2").breaks(&[]);
    let late = clean().at(40, started("w1", "c1")).killed(15_000, "w2");
    late.breaks(&[Rule::TooManyExecutions]);
}

#[test]
fn what_the_run_leaves_behind_is_told() {
    let session = "s".to_owned();
    clean()
        .at(20_002, Event::DeadSessionHolds { session })
        .breaks(&[Rule::HeldByTheDead]);
    let place = "a log".to_owned();
    clean()
        .at(20_002, Event::Leaked { place })
        .breaks(&[Rule::Leaked]);
    let hostile = clean().at(
        30,
        Event::HostileStored {
            sequence: 9,
            message: Hostile::LoneReturn,
        },
    );
    hostile.breaks(&[Rule::LeftUnanswered]);
    hostile
        .at(20_002, Event::DeadLettered { sequence: 9 })
        .breaks(&[]);
}
