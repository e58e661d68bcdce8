//! A parent that asks two others, told event by event.

use super::tale::{
    Tale, accepted, acked, claimed, committed, committing, heard, of, published, publishing,
    stands, started,
};
use crate::{
    chaos::history::{ClaimId, Event, Kid, Origin, WorkerId},
    contract::{ChildPlace, PurutoName, RequestId, Step},
};

/// A parent's step and how many children it asks for.
pub(super) const ONCE: (u32, u16) = (0, 2);

pub(super) fn target() -> PurutoName {
    "relay".parse().expect("a name")
}

pub(super) fn root() -> RequestId {
    "r-1".parse().expect("an id")
}

pub(super) fn child_of(parent: &RequestId, index: u16) -> RequestId {
    let step = Step::new(0);
    ChildPlace { step, index }.child_of(&target(), parent)
}

/// The `index`-th child of the root.
pub(super) fn child(index: u16) -> RequestId {
    child_of(&root(), index)
}

pub(super) fn parked(parent: &RequestId, (step, count): (u32, u16), join: u16) -> Event {
    let step = Step::new(step);
    let kid = |index| Kid {
        index,
        target: target(),
        request: ChildPlace { step, index }.child_of(&target(), parent),
    };
    Event::Parked {
        worker: WorkerId::new("w1"),
        request: parent.clone(),
        claim: ClaimId::new("c1"),
        target: target(),
        step,
        join,
        bytes: 100,
        children: (0..count).map(kid).collect(),
    }
}

pub(super) fn let_go(claim: &str) -> Event {
    Event::LetGo {
        worker: WorkerId::new("w1"),
        request: root(),
        claim: ClaimId::new(claim),
    }
}

pub(super) fn resumed(claim: &str) -> Event {
    Event::Resumed {
        worker: WorkerId::new("w2"),
        request: root(),
        claim: ClaimId::new(claim),
        step: Step::new(0),
    }
}

/// The handler of a child begins, whose record says this of its origin.
pub(super) fn begins(request: &RequestId, claim: &str, origin: Option<Origin>) -> Event {
    Event::Started {
        worker: WorkerId::new("w1"),
        request: request.clone(),
        claim: ClaimId::new(claim),
        origin: origin.map(Box::new),
    }
}

pub(super) fn below(parent: &RequestId, hop: u8) -> Origin {
    Origin {
        parent: parent.clone(),
        root: root(),
        hop,
        above: "relay/do".to_owned(),
    }
}

/// A child from its claim at `millis` until its message is gone, half a second later.
pub(super) fn runs(tale: Tale, millis: u64, request: &RequestId, origin: Option<Origin>) -> Tale {
    let claim = format!("c-{request}");
    let told = |event: Event| of(request, &event);
    let digest = request.as_str();
    tale.at(millis, told(claimed("w1", &claim, millis)))
        .at(millis + 2, begins(request, &claim, origin))
        .at(millis + 400, told(committing("w1", &claim)))
        .at(millis + 402, told(committed("w1", &claim, digest)))
        .at(millis + 410, told(publishing("w1", digest)))
        .at(millis + 412, told(heard(digest)))
        .at(millis + 413, told(published("w1")))
        .at(millis + 415, told(acked("w1")))
        .at(90_000, told(stands(digest, None)))
}

/// A parent asks once, and lets go.
pub(super) fn asks(tale: Tale, join: u16) -> Tale {
    tale.at(0, accepted())
        .at(10, claimed("w1", "c1", 10))
        .at(12, started("w1", "c1"))
        .at(20, parked(&root(), ONCE, join))
        .at(30, let_go("c1"))
}

/// It goes on at `millis`, and answers.
pub(super) fn goes_on(tale: Tale, millis: u64) -> Tale {
    tale.at(millis, claimed("w2", "c2", millis))
        .at(millis + 1, resumed("c2"))
        .at(millis + 2, started("w2", "c2"))
        .at(millis + 50, committing("w2", "c2"))
        .at(millis + 52, committed("w2", "c2", "d1"))
        .at(millis + 60, publishing("w2", "d1"))
        .at(millis + 62, heard("d1"))
        .at(millis + 63, published("w2"))
        .at(millis + 65, acked("w2"))
        .at(80_000, Event::Calm)
        .at(90_000, stands("d1", None))
}

pub(super) fn clean() -> Tale {
    let tale = asks(Tale::default(), 2);
    let tale = runs(tale, 40, &child(0), Some(below(&root(), 1)));
    let tale = runs(tale, 60, &child(1), Some(below(&root(), 1)));
    goes_on(tale, 480)
}

/// The same, but for what the first child's record says of its origin.
pub(super) fn with_origin(origin: Option<Origin>) -> Tale {
    let first = child(0);
    let is_first = |it: &Event| matches!(it, Event::Started { request, .. } if *request == first);
    clean()
        .without(is_first)
        .at(42, begins(&first, &format!("c-{first}"), origin))
}
