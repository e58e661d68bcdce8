//! The same of requests that ask others.

use super::{
    family::{
        ONCE, asks, begins, below, child, child_of, clean, goes_on, parked, resumed, root, runs,
        with_origin,
    },
    tale::{
        Tale, acked, claimed, committed, committing, flagged, heard, of, published, publishing,
        stands, started,
    },
    *,
};
use crate::{
    chaos::{
        history::{Event, Expected},
        schedule::{Fault, Place, Side},
    },
    contract::ErrorCode,
    handler::crash::CrashPoint,
};

#[test]
fn a_parent_that_waits_and_goes_on_breaks_nothing() {
    clean().breaks(&[]);
    let figures = clean().verdict().figures;
    assert_eq!((figures.executions, figures.repeated), (4, 0));
    let figures = figures.delegation;
    assert_eq!((figures.delegations, figures.descendants), (1, 2));
    assert_eq!((figures.most_below, figures.deepest), (2, 1));
    assert_eq!(figures.waiting_most, 1);
    // The last child is heard at 472.
    assert_eq!(figures.undisturbed_resumes, [Duration::from_millis(9)]);
}

#[test]
fn an_origin_that_the_fleet_did_not_write_down_is_made_up() {
    let rules = [Rule::OriginMadeUp];
    with_origin(Some(below(&root(), 0))).breaks(&rules);
    with_origin(Some(below(&child(1), 1))).breaks(&rules);
    let mut other_root = below(&root(), 1);
    other_root.root = child(1);
    with_origin(Some(other_root)).breaks(&rules);
    with_origin(None).breaks(&rules);
    let is_root = |it: &Event| matches!(it, Event::Started { request, .. } if *request == root());
    clean()
        .without(is_root)
        .at(12, begins(&root(), "c1", Some(below(&child(1), 1))))
        .breaks(&rules);
}

#[test]
fn a_child_has_the_id_of_its_place_and_of_nobody_elses() {
    let mut other = parked(&root(), ONCE, 2);
    if let Event::Parked { children, .. } = &mut other {
        children[1].request = "another".parse().expect("an id");
    }
    clean().at(21, other).breaks(&[Rule::ChildIdWrong]);
    let foreseen = |parent: &str| Event::Foreseen {
        request: child(0),
        parent: parent.parse().expect("an id"),
        expected: Expected::Done,
    };
    clean().at(1, foreseen("r-1")).breaks(&[]);
    clean().at(1, foreseen("r-2")).breaks(&[Rule::ChildIdWrong]);
}

#[test]
fn who_lets_go_of_a_claim_does_nothing_more_under_it() {
    for late in [
        committing("w1", "c1"),
        resumed("c1"),
        parked(&root(), ONCE, 2),
    ] {
        assert!(clean().at(35, late).broken().contains(&Rule::WaitHolds));
    }
}

#[test]
fn those_who_wait_together_hold_no_slot() {
    let waited = |waiting, taken| Event::WaitedTogether {
        asked: 9,
        waiting,
        slots: 6,
        taken,
    };
    clean().at(85_000, waited(9, 0)).breaks(&[]);
    clean().at(85_000, waited(9, 6)).breaks(&[Rule::WaitHolds]);
    clean().at(85_000, waited(6, 0)).breaks(&[Rule::WaitHolds]);
}

#[test]
fn what_is_below_a_request_is_bounded_in_every_way() {
    let rules = [Rule::TooMuch];
    clean().at(22, parked(&root(), (1, 4), 4)).breaks(&rules);
    let wide = clean()
        .at(50, parked(&child(0), (0, 2), 2))
        .at(70, parked(&child(1), (0, 1), 1));
    wide.breaks(&rules);
    let deep = clean()
        .at(50, parked(&child(0), (0, 1), 1))
        .at(52, parked(&child_of(&child(0), 0), (0, 1), 1));
    deep.breaks(&rules);
    let mut long = parked(&root(), ONCE, 2);
    if let Event::Parked { bytes, .. } = &mut long {
        *bytes = 1_001;
    }
    clean().at(21, long).breaks(&rules);
    let mut often = claimed("w1", "c9", 5);
    if let Event::Claimed { attempt, .. } = &mut often {
        *attempt = 6;
    }
    clean().at(5, often).breaks(&rules);
}

#[test]
fn what_is_delegated_again_by_who_took_over_counts_once() {
    clean()
        .killed(15, "w1")
        .at(25, parked(&root(), ONCE, 2))
        .breaks(&[]);
}

#[test]
fn a_parent_goes_on_soon_after_as_many_have_ended_as_it_waits_for() {
    let children = |tale, join| {
        let tale = runs(asks(tale, join), 40, &child(0), Some(below(&root(), 1)));
        runs(tale, 15_000, &child(1), Some(below(&root(), 1)))
    };
    goes_on(children(Tale::default(), 2), 15_500).breaks(&[]);
    goes_on(children(Tale::default(), 2), 26_000).breaks(&[Rule::NotWoken]);
    goes_on(children(Tale::default(), 1), 15_500).breaks(&[Rule::NotWoken]);
}

/// W1 sleeps from 21 on while it writes down what it asks for, and is told at 5,000 that it has;
/// what it asked for is done, and so is the request if `goes_on`.
fn told_late(goes_on_at: Option<u64>) -> Tale {
    let park = |it: &Event| matches!(it, Event::Parked { .. } | Event::LetGo { .. });
    let tale = asks(Tale::default(), 2).without(park);
    let tale = (0..2).fold(tale, |tale, index| {
        let millis = 50 + 20 * u64::from(index);
        runs(tale, millis, &child(index), Some(below(&root(), 1)))
    });
    let asleep = Fault::PauseWorker {
        place: Place(0),
        past_session: true,
    };
    let tale = match goes_on_at {
        Some(millis) => goes_on(tale, millis),
        None => tale.at(20_000, Event::Calm),
    };
    tale.struck((21, 5_000), asleep, Some("w1"))
        .at(5_001, parked(&root(), ONCE, 2))
}

#[test]
fn a_wait_that_its_worker_learns_of_late_may_be_over_by_then() {
    let told = told_late(Some(1_000));
    told.clone().breaks(&[]);
    assert!(
        told.verdict()
            .figures
            .delegation
            .undisturbed_resumes
            .is_empty()
    );
    let never = told_late(None);
    assert!(never.broken().contains(&Rule::NotWoken));
    // What stood in a store that was emptied meanwhile is owed by nobody.
    let emptied = |at| never.clone().struck((at, at + 1), Fault::EmptyRedis, None);
    assert!(!emptied(3_000).broken().contains(&Rule::NotWoken));
    assert!(emptied(5).broken().contains(&Rule::NotWoken));
}

#[test]
fn a_wake_may_be_late_while_faults_strike_but_not_for_long_after() {
    let late = |millis: u64| {
        let tale = runs(
            asks(Tale::default(), 2),
            40,
            &child(0),
            Some(below(&root(), 1)),
        );
        let tale = runs(tale, 60, &child(1), Some(below(&root(), 1)));
        let tale = goes_on(tale, millis).without(|it| *it == Event::Calm);
        tale.at(31_000, Event::Calm)
    };
    let server = Side::Redis;
    let paused = |tale: Tale| tale.struck((470, 30_000), Fault::PauseServer { server }, None);
    paused(late(30_500)).breaks(&[]);
    late(30_500).breaks(&[Rule::NotWoken]);
    paused(late(50_000)).breaks(&[Rule::NotWoken]);
}

#[test]
fn a_cancel_ends_whoever_was_asked_because_of_it() {
    let cancelled = |until: u64| {
        let tale = asks(Tale::default(), 2).at(1_000, flagged());
        let tale = runs(tale, until - 412, &child(0), Some(below(&root(), 1)));
        let is_told = |it: &Event| matches!(it, Event::Stands { .. });
        let begins_early = begins(&child(0), "c0", Some(below(&root(), 1)));
        let late =
            |it: &Event| matches!(it, Event::Started { request, .. } if *request == child(0));
        let tale = tale.without(late).at(50, begins_early).without(is_told);
        let tale = tale.at(
            90_000,
            of(
                &child(0),
                &stands(child(0).as_str(), Some(ErrorCode::Cancelled)),
            ),
        );
        let tale = tale
            .at(1_200, claimed("w2", "c2", 1_200))
            .at(1_250, committing("w2", "c2"))
            .at(1_252, committed("w2", "c2", "d1"))
            .at(1_260, publishing("w2", "d1"))
            .at(1_262, heard("d1"))
            .at(1_263, published("w2"))
            .at(1_265, acked("w2"));
        tale.at(80_000, Event::Calm)
            .at(90_000, stands("d1", Some(ErrorCode::Cancelled)))
    };
    cancelled(1_500).breaks(&[]);
    let ends = cancelled(1_500)
        .verdict()
        .figures
        .delegation
        .undisturbed_ends;
    assert_eq!(ends, [Duration::from_millis(500)]);
    cancelled(9_000).breaks(&[Rule::LeftRunning]);
}

#[test]
fn a_child_that_was_claimed_has_a_result() {
    let gone = |it: &Event| {
        let told = it.request() == Some(&child(1));
        told && !matches!(it, Event::Claimed { .. } | Event::Started { .. })
    };
    let tale = clean().without(gone);
    tale.breaks(&[Rule::LeftRunning, Rule::Lost]);
}

#[test]
fn a_worker_that_dies_at_a_joint_stands_for_two_deaths() {
    let place = Place(0);
    let point = CrashPoint::AfterPark;
    let tale = clean()
        .at(6, claimed("w1", "c-1", 6))
        .at(7, started("w1", "c-1"))
        .at(8, claimed("w3", "c-2", 8))
        .at(9, started("w3", "c-2"));
    tale.breaks(&[Rule::TooManyExecutions]);
    tale.struck((5, 3_000), Fault::DieAt { place, point }, Some("w1"))
        .breaks(&[]);
}
