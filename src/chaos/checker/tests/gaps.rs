//! What a history of requests that ask others does not prove: forged messages, an emptied store, and
//! whoever died before it could tell.

use super::{
    family::{begins, below, child, child_of, clean, parked, resumed, root, runs, with_origin},
    tale::{Tale, accepted, claimed, of, stands},
    *,
};
use crate::{
    chaos::{
        history::{Event, Expected, Origin, WorkerId},
        schedule::Fault,
    },
    contract::{ErrorCode, RequestId},
};

#[test]
fn a_forged_message_may_be_a_request_of_its_own_and_an_emptied_store_forgets_an_origin() {
    let request = child(0);
    let forged = Event::Forged { request };
    with_origin(None).at(25, forged.clone()).breaks(&[]);
    with_origin(Some(below(&child(1), 1)))
        .at(25, forged)
        .breaks(&[Rule::OriginMadeUp]);
    with_origin(None)
        .struck((35, 36), Fault::EmptyRedis, None)
        .breaks(&[]);
}

#[test]
fn what_is_below_a_forged_request_has_its_own_root_or_the_one_above() {
    let (first, grandchild) = (child(0), child_of(&child(0), 0));
    let below_forged = |root: &RequestId, hop| {
        let origin = Origin {
            root: root.clone(),
            ..below(&first, hop)
        };
        let request = first.clone();
        clean()
            .at(25, Event::Forged { request })
            .at(50, parked(&first, (0, 1), 1))
            .at(55, begins(&grandchild, "c9", Some(origin)))
    };
    below_forged(&first, 1).breaks(&[]);
    below_forged(&root(), 2).breaks(&[]);
    below_forged(&first, 2).breaks(&[Rule::OriginMadeUp]);
}

#[test]
fn whoever_died_before_it_could_tell_leaves_a_chain_without_its_beginning() {
    let (first, grandchild) = (child(0), child_of(&child(0), 0));
    let tale = clean()
        .at(50, parked(&first, (0, 1), 1))
        .at(55, begins(&grandchild, "c9", Some(below(&first, 2))));
    tale.breaks(&[]);
    let untold = |it: &Event| matches!(it, Event::Parked { request, .. } if *request == root());
    tale.without(untold).breaks(&[]);
}

#[test]
fn what_is_forged_may_be_cancelled_with_the_child_and_run_alone_once_the_store_was_emptied() {
    let request = child(0);
    let forged = clean().at(25, Event::Forged { request });
    let again = begins(&child(0), "c9", None);
    let tale = forged.clone().at(2_000, again);
    assert!(tale.broken().contains(&Rule::StartedAfterTheEnd));
    tale.struck((1_900, 1_901), Fault::EmptyRedis, None)
        .breaks(&[]);
    let foreseen = Event::Foreseen {
        request: child(0),
        parent: root(),
        expected: Expected::Done,
    };
    let digest = child(0).to_string();
    let told = |it: &Event| it.request() == Some(&child(0)) && matches!(it, Event::Stands { .. });
    let cancelled = stands(&digest, Some(ErrorCode::Cancelled));
    forged
        .at(1, foreseen)
        .without(told)
        .at(90_000, of(&child(0), &cancelled))
        .breaks(&[]);
}

#[test]
fn what_a_parent_allowed_holds_unless_the_store_forgot_it_or_the_request_is_forged() {
    let foreseen = Event::Foreseen {
        request: child(0),
        parent: root(),
        expected: Expected::Refused(ErrorCode::BudgetExhausted),
    };
    let tale = clean().at(1, foreseen);
    tale.breaks(&[Rule::WrongAnswer]);
    tale.clone()
        .struck((25, 26), Fault::EmptyRedis, None)
        .breaks(&[]);
    // A message that was forged under its id is a caller's, who may have more done.
    let request = child(0);
    tale.at(25, Event::Forged { request }).breaks(&[]);
}

#[test]
fn a_child_that_outlives_its_callers_time_may_end_with_it_although_its_parent_did_not_tell() {
    let first = child(0);
    let foreseen = Event::Foreseen {
        request: first.clone(),
        parent: root(),
        expected: Expected::Done,
    };
    let tale = |millis| {
        let ended = Some(ErrorCode::Cancelled);
        let tale = Tale::default().at(0, accepted()).at(1, foreseen.clone());
        runs(tale, millis, &first, Some(below(&root(), 1)))
            .without(|it| matches!(it, Event::Stands { .. } | Event::Started { .. }))
            .at(89_000, of(&first, &stands(first.as_str(), ended)))
            .at(89_001, Event::LeftInStream { sequence: 7 })
    };
    tale(59_800).breaks(&[Rule::Stuck]);
    tale(30_000).breaks(&[Rule::Stuck, Rule::WrongAnswer]);
}

#[test]
fn a_child_that_was_dropped_may_end_cancelled_although_nobody_told_that_it_was_asked() {
    let first = child(0);
    let foreseen = Event::Foreseen {
        request: first.clone(),
        parent: root(),
        expected: Expected::Done,
    };
    let untold = |it: &Event| {
        let ended = it.request() == Some(&first) && matches!(it, Event::Stands { .. });
        ended || matches!(it, Event::Parked { .. })
    };
    let cancelled = stands(first.as_str(), Some(ErrorCode::Cancelled));
    let tale = clean()
        .without(untold)
        .at(1, foreseen)
        .at(90_000, of(&first, &cancelled));
    // It ended before its parent went on ...
    tale.breaks(&[Rule::WrongAnswer]);
    // ... or after that.
    let resumed = resumed("c2");
    tale.at(430, resumed).breaks(&[]);
}

#[test]
fn what_is_forged_and_what_is_below_it_may_be_refused_once_the_store_was_emptied() {
    let (first, grandchild) = (child(0), child_of(&child(0), 0));
    let aside = Event::Published {
        worker: WorkerId::new("w2"),
        request: grandchild.clone(),
        own: false,
    };
    let tale = clean()
        .at(50, parked(&first, (0, 1), 1))
        .at(70, aside)
        .at(54, of(&grandchild, &claimed("w2", "c9", 54)))
        .at(55, begins(&grandchild, "c9", Some(below(&first, 2))));
    let emptied = |tale: Tale| tale.struck((60, 61), Fault::EmptyRedis, None);
    for lost in [&tale, &emptied(tale.clone())] {
        assert!(lost.broken().contains(&Rule::Lost));
    }
    for request in [first, grandchild] {
        let forged = tale.clone().at(25, Event::Forged { request });
        assert!(forged.broken().contains(&Rule::Lost));
        assert!(!emptied(forged).broken().contains(&Rule::Lost));
    }
}
