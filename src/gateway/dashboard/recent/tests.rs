//! What the index says of what it was told.

use std::time::Duration;

use super::{query::Page, *};
use crate::{clock::WallTime, contract::ErrorCode};

fn recent(most: usize) -> Recent {
    Recent::of(NonZeroUsize::new(most).unwrap())
}

fn told(target: &str, id: &str, at: u64, what: What<Box<str>>) -> Told {
    Told {
        target: target.parse().unwrap(),
        request: id.parse().unwrap(),
        correlation: format!("chain-of-{id}").parse().unwrap(),
        at: WallTime::from_unix_millis(at),
        what,
    }
}

fn asked(target: &str, id: &str, at: u64) -> Told {
    let (caller, action) = ("desk".into(), "ask".into());
    told(target, id, at, What::Asked { caller, action })
}

fn happened(id: &str, at: u64, phase: Phase) -> Told {
    let what = What::Happened {
        phase,
        attempt: Some(1),
        worker: Some("w-1".into()),
    };
    told("clerk", id, at, what)
}

fn answered(id: &str, at: u64, code: Option<ErrorCode>) -> Told {
    let what = What::Answered {
        code,
        attempt: Some(2),
        worker: Some("w-2".into()),
        duration: Duration::from_millis(30),
        caller: None,
        action: None,
    };
    told("clerk", id, at, what)
}

fn ids(page: &Page) -> Vec<&str> {
    page.rows.iter().map(|row| &*row.request).collect()
}

fn filtered(recent: &Recent, filter: &Filter) -> Vec<String> {
    let page = recent.page(filter, None, 100);
    ids(&page).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_request_is_one_row_in_whatever_order_it_is_told_of() {
    let story = [
        asked("clerk", "r", 1_000),
        happened("r", 1_010, Phase::Running),
        happened("r", 1_020, Phase::Waiting),
        answered("r", 1_050, Some(ErrorCode::Timeout)),
    ];
    for rotated in 0..story.len() {
        let mut order = story.to_vec();
        order.rotate_left(rotated);
        order.reverse();
        let mut recent = recent(10);
        order.into_iter().for_each(|told| recent.take(told));
        let row = recent.row("clerk", "r").unwrap();
        assert_eq!(recent.len(), 1);
        assert_eq!(
            (row.phase, row.code),
            (Phase::Failed, Some(ErrorCode::Timeout))
        );
        assert_eq!((row.attempts, row.worker.as_deref()), (2, Some("w-2")));
        assert_eq!(row.began, WallTime::from_unix_millis(1_000));
        assert_eq!(row.caller.as_deref(), Some("desk"));
    }
}

#[test]
fn what_happened_earlier_does_not_overtake_what_happened_later() {
    let mut recent = recent(10);
    recent.take(happened("r", 20, Phase::Waiting));
    recent.take(happened("r", 10, Phase::Running));
    assert_eq!(recent.row("clerk", "r").unwrap().phase, Phase::Waiting);
    recent.take(answered("r", 30, None));
    recent.take(happened("r", 40, Phase::Running));
    recent.take(answered("r", 50, Some(ErrorCode::Denied)));
    assert_eq!(recent.row("clerk", "r").unwrap().phase, Phase::Ok);
}

#[test]
fn the_first_is_forgotten_when_there_are_too_many_and_comes_back_as_new() {
    let mut recent = recent(3);
    for (at, id) in (0..).zip(["a", "b", "c", "d"]) {
        recent.take(asked("clerk", id, at));
    }
    assert_eq!(
        ids(&recent.page(&Filter::default(), None, 9)),
        ["d", "c", "b"]
    );
    assert!(recent.row("clerk", "a").is_none());
    recent.take(answered("a", 9, None));
    assert_eq!(
        ids(&recent.page(&Filter::default(), None, 9)),
        ["a", "d", "c"]
    );
    let counts: Vec<_> = recent.counts().collect();
    let [("clerk", counts)] = counts[..] else {
        panic!("{counts:?}");
    };
    assert_eq!(counts[Phase::Queued as usize], 2);
    assert_eq!(counts[Phase::Ok as usize], 1);
}

#[test]
fn each_filter_leaves_what_fits_it() {
    let mut recent = recent(10);
    recent.take(asked("clerk", "order-1", 1));
    recent.take(asked("other", "order-2", 2));
    recent.take(answered("bill-3", 3, Some(ErrorCode::Cancelled)));
    recent.take(happened("bill-4", 4, Phase::Approval));
    let by = |change: fn(&mut Filter)| {
        let mut filter = Filter::default();
        change(&mut filter);
        filtered(&recent, &filter)
    };
    assert_eq!(by(|it| it.target = Some("other".into())), ["order-2"]);
    assert_eq!(
        by(|it| it.caller = Some("desk".into())),
        ["order-2", "order-1"]
    );
    assert_eq!(by(|it| it.text = Some("bill".into())), ["bill-4", "bill-3"]);
    assert_eq!(
        by(|it| it.correlation = Some("chain-of-order-1".into())),
        ["order-1"]
    );
    assert_eq!(
        by(|it| it.phases = vec![Phase::Cancelled, Phase::Approval]),
        ["bill-4", "bill-3"]
    );
    assert!(by(|it| it.target = Some("nobody".into())).is_empty());
}

#[test]
fn pages_are_one_list_also_while_requests_come_and_are_forgotten() {
    let mut recent = recent(10);
    for number in 0..10_u64 {
        recent.take(asked("clerk", &format!("r-{number}"), number));
    }
    let filter = Filter::default();
    let first = recent.page(&filter, None, 4);
    assert_eq!(ids(&first), ["r-9", "r-8", "r-7", "r-6"]);
    for number in 10..13_u64 {
        recent.take(asked("clerk", &format!("r-{number}"), number));
    }
    let second = recent.page(&filter, first.next, 4);
    assert_eq!(ids(&second), ["r-5", "r-4", "r-3"]);
    assert_eq!(second.next, None);
    assert!(recent.page(&filter, Some(Serial(1)), 4).rows.is_empty());
}

#[test]
fn names_are_kept_once_and_no_sender_can_make_them_many() {
    let mut recent = recent(10);
    for number in 0..2 * NAMES_MAX {
        recent.take(asked(&format!("target-{number}"), "r", 0));
    }
    assert_eq!(recent.names.len(), NAMES_MAX);
    assert_eq!(recent.len(), 10);
    assert_eq!(recent.counts().count(), 10);
}

#[test]
fn a_hundred_thousand_requests_are_asked_one_by_one_and_once() {
    let mut recent = recent(100_000);
    for number in 0..100_000_u64 {
        recent.take(asked("clerk", &format!("0199-{number}-ab"), number));
    }
    let mut filter = Filter {
        text: Some("no such text".into()),
        ..Filter::default()
    };
    assert!(recent.page(&filter, None, 100).rows.is_empty());
    filter.text = Some("-99999-".into());
    assert_eq!(recent.page(&filter, None, 100).rows.len(), 1);
}
