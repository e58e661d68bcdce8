//! How kin travels: what is written into calls, and what scripts answer. `None` where an answer is
//! none of theirs.

use std::fmt;

use bytes::Bytes;
use redis::Value;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    super::{
        AckToken, RequestKey,
        kin::{
            Child, ChildEnd, Due, DueFor, Intended, Kin, LetGo, ParkAnswer, VerdictAnswer, Wait,
            WaitsOn, Woken,
        },
    },
    answer::{array, bytes, flag, text, whole},
    keys,
};
use crate::contract::{Micros, Spent, Step};

/// The most that is counted at once: whatever is added up stays far below what the server counts
/// to.
const COUNTED_MAX: u64 = 1 << 53;

/// Four numbers, as the scripts read them.
pub(super) struct Numbers<'s>(pub(super) &'s Spent);

impl fmt::Display for Numbers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spent {
            requests,
            tokens,
            cost: Micros(cost),
            descendants,
        } = self.0;
        let [requests, tokens, cost, descendants] =
            [requests, tokens, cost, descendants].map(|it| COUNTED_MAX.min(*it));
        write!(f, "{requests} {tokens} {cost} {descendants}")
    }
}

/// A value as the JSON that scripts keep and never read.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers can always be written as JSON")
}

/// What [`json`] wrote.
pub(super) fn parsed<T: DeserializeOwned>(value: &Value) -> Option<T> {
    serde_json::from_str(text(value)?).ok()
}

/// How a child's end is written; the same as in JSON.
pub(super) const fn ended(end: ChildEnd) -> &'static str {
    match end {
        ChildEnd::Answered => "answered",
        ChildEnd::Dropped => "dropped",
    }
}

fn child_end(value: &Value) -> Option<Option<ChildEnd>> {
    match value {
        Value::Nil => Some(None),
        value => match text(value)? {
            "answered" => Some(Some(ChildEnd::Answered)),
            "dropped" => Some(Some(ChildEnd::Dropped)),
            _ => None,
        },
    }
}

/// `Some(None)` where the record has no kin.
pub(super) fn kin(value: &Value) -> Option<Option<Box<Kin>>> {
    if *value == Value::Nil {
        return Some(None);
    }
    let [lineage, wait, steps, verdict, spent @ ..] = array(value)? else {
        return None;
    };
    let kin = Kin {
        lineage: optional(lineage, parsed)?,
        waits: *wait != Value::Nil,
        steps: optional(steps, steps_of)?.unwrap_or_default(),
        spent: spent_of(spent)?,
        verdict: optional(verdict, parsed)?,
    };
    Some((kin != Kin::default()).then(|| Box::new(kin)))
}

/// Four numbers in a row; nil is none.
pub(super) fn spent_of(values: &[Value]) -> Option<Spent> {
    let [requests, tokens, cost, descendants] = values else {
        return None;
    };
    let number = |value| Some(optional(value, whole)?.unwrap_or(0));
    Some(Spent {
        requests: number(requests)?,
        tokens: number(tokens)?,
        cost: Micros(number(cost)?),
        descendants: number(descendants)?,
    })
}

/// Steps, joined by commas.
fn steps_of(value: &Value) -> Option<Vec<Step>> {
    let steps = text(value)?.split(',');
    steps.map(|it| it.parse().ok().map(Step::new)).collect()
}

pub(super) fn optional<T>(
    value: &Value,
    reader: impl FnOnce(&Value) -> Option<T>,
) -> Option<Option<T>> {
    match value {
        Value::Nil => Some(None),
        value => reader(value).map(Some),
    }
}

pub(super) fn waits_on(value: &Value) -> Option<WaitsOn> {
    match text(value)? {
        "children" => Some(WaitsOn::Children),
        "verdict" => Some(WaitsOn::Verdict),
        _ => None,
    }
}

pub(super) fn parked(value: &Value) -> Option<ParkAnswer> {
    match text(value)? {
        "parked" => Some(ParkAnswer::Parked),
        "cancelled" => Some(ParkAnswer::Cancelled),
        "lost" => Some(ParkAnswer::Lost),
        _ => None,
    }
}

pub(super) fn intended(value: &Value) -> Option<Intended> {
    match text(value)? {
        "expected" => Some(Intended::Expected),
        "done" => Some(Intended::Done),
        "conflict" => Some(Intended::Conflict),
        _ => None,
    }
}

pub(super) fn let_go(value: &Value) -> Option<LetGo> {
    match text(value)? {
        "waiting" => Some(LetGo::Waiting),
        "ready" => Some(LetGo::Ready),
        "lost" => Some(LetGo::Lost),
        _ => None,
    }
}

pub(super) fn woken(value: &Value) -> Option<Woken> {
    let (word, rest) = array(value)?.split_first()?;
    match (text(word)?, rest) {
        ("wake", [ack]) => Some(Woken::Wake(AckToken::new(text(ack)?))),
        ("noted", []) => Some(Woken::Noted),
        ("ignored", []) => Some(Woken::Ignored),
        _ => None,
    }
}

/// `Some(None)` where there is no wait.
pub(super) fn wait(value: &Value) -> Option<Option<Wait>> {
    if *value == Value::Nil {
        return Some(None);
    }
    let [step, join, sent, children @ ..] = array(value)? else {
        return None;
    };
    let (pairs, rest) = children.as_chunks::<2>();
    let children = pairs
        .iter()
        .map(|[child, end]| Some((parsed(child)?, child_end(end)?)));
    let wait = Wait {
        step: Step::new(u32::try_from(whole(step)?).ok()?),
        join: u16::try_from(whole(join)?).ok()?,
        sent: flag(sent)?,
        children: children.collect::<Option<_>>()?,
    };
    rest.is_empty().then_some(Some(wait))
}

/// Pairs of child and message, in a row.
pub(super) fn outbox(value: &Value) -> Option<Vec<(Child, Bytes)>> {
    let (pairs, rest) = array(value)?.as_chunks::<2>();
    let pairs = pairs
        .iter()
        .map(|[child, message]| Some((parsed(child)?, bytes(message)?)));
    rest.is_empty().then(|| pairs.collect()).flatten()
}

pub(super) fn children(value: &Value) -> Option<Vec<Child>> {
    array(value)?.iter().map(parsed).collect()
}

/// Triples of member, ack subject and reason, in a row.
pub(super) fn due(value: &Value) -> Option<Vec<Due>> {
    let (triples, rest) = array(value)?.as_chunks::<3>();
    let due = triples.iter().map(|[member, ack, why]| {
        Some(Due {
            key: keys::member(text(member)?)?,
            ack: AckToken::new(text(ack)?),
            why: match text(why)? {
                "end" => DueFor::End,
                "wake" => DueFor::Wake,
                "look" => DueFor::Look,
                _ => return None,
            },
        })
    });
    rest.is_empty().then(|| due.collect()).flatten()
}

pub(super) fn verdict(value: &Value) -> Option<VerdictAnswer> {
    let (word, rest) = array(value)?.split_first()?;
    match (text(word)?, rest) {
        ("taken", []) => Some(VerdictAnswer::Taken),
        ("decided", [verdict]) => Some(VerdictAnswer::Decided(parsed(verdict)?)),
        ("mismatch", []) => Some(VerdictAnswer::Mismatch),
        ("not_asked", []) => Some(VerdictAnswer::NotAsked),
        _ => None,
    }
}

pub(super) fn roots(value: &Value) -> Option<Vec<RequestKey>> {
    let members = array(value)?.iter();
    members.map(|it| keys::member(text(it)?)).collect()
}
