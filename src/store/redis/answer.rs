//! What the scripts answer, as values. `None` where an answer is none of theirs.

use std::time::Duration;

use bytes::Bytes;
use redis::Value;

use super::{
    super::{
        AckToken, Attempt, CancelAnswer, Carried, ClaimAnswer, Claimed, CommitAnswer, Epoch,
        Exhausted, Held, Nonce, Record, RecordState, Registered, Renewal, RequestKey, SessionId,
        kin::Kin,
    },
    keys, kin,
    options::Partitions,
};
use crate::{
    clock::WallTime,
    contract::{CorrelationId, PurutoName},
};

pub(super) fn claim(value: &Value) -> Option<ClaimAnswer> {
    if matches!(value, Value::Int(_)) {
        return time(value).map(first_claim).map(ClaimAnswer::Claimed);
    }
    let items = array(value)?;
    match (text(items.first()?)?, items) {
        ("claimed", [_, attempts, first, now, cancelled, fresh, carried, kin]) => {
            Some(ClaimAnswer::Claimed(Claimed {
                attempt: Attempt::new(small(attempts)?),
                first_claimed: time(first)?,
                now: time(now)?,
                cancelled: flag(cancelled)?,
                fresh: flag(fresh)?,
                carried: Carried::new(text(carried)?),
                kin: kin::kin(kin)?,
            }))
        }
        ("exhausted", [_, attempts, first, now, cancelled, last, kin]) => {
            Some(ClaimAnswer::Exhausted(Exhausted {
                claimed: Claimed {
                    attempt: Attempt::new(small(attempts)?),
                    first_claimed: time(first)?,
                    now: time(now)?,
                    cancelled: flag(cancelled)?,
                    fresh: false,
                    carried: Carried::default(),
                    kin: kin::kin(kin)?,
                },
                last_worker: text(last)?.into(),
            }))
        }
        ("held", [_, owner]) => {
            let owner = session(owner)?;
            Some(ClaimAnswer::Held(Held { owner }))
        }
        ("waiting", [_]) => Some(ClaimAnswer::Waiting),
        ("done", [_, chain, attempts, result, kin]) => Some(ClaimAnswer::Done {
            result: bytes(result),
            correlation: correlation(chain)?,
            attempt: Attempt::new(small(attempts)?),
            kin: kin::kin(kin)?,
        }),
        ("conflict", [_, chain]) => {
            let correlation = correlation(chain)?;
            Some(ClaimAnswer::Conflict { correlation })
        }
        ("fenced", [_]) => Some(ClaimAnswer::Fenced),
        _ => None,
    }
}

/// The claim that made the record, at `now`.
fn first_claim(now: WallTime) -> Claimed {
    Claimed {
        attempt: Attempt::new(1),
        first_claimed: now,
        now,
        cancelled: false,
        fresh: true,
        carried: Carried::default(),
        kin: None,
    }
}

pub(super) fn commit(value: &Value) -> Option<CommitAnswer> {
    match text(value)? {
        "committed" => Some(CommitAnswer::Committed),
        "lost" => Some(CommitAnswer::Lost),
        "cancelled" => Some(CommitAnswer::Cancelled),
        _ => None,
    }
}

pub(super) fn cancel(value: &Value) -> Option<CancelAnswer> {
    let (word, rest) = array(value)?.split_first()?;
    match (text(word)?, rest) {
        ("done", []) => Some(CancelAnswer::AlreadyDone),
        ("flagged", []) => Some(CancelAnswer::Flagged),
        ("owned", [owner]) => Some(CancelAnswer::Owned(session(owner)?)),
        ("waiting", children) => {
            let children = children.iter().map(kin::parsed).collect::<Option<_>>()?;
            Some(CancelAnswer::Waiting(children))
        }
        _ => None,
    }
}

pub(super) fn renewal(value: &Value) -> Option<Renewal> {
    if *value == Value::Nil {
        return Some(Renewal::Fenced);
    }
    let members = array(value)?.iter();
    let cancelled = members
        .map(|it| keys::member(text(it)?))
        .collect::<Option<_>>()?;
    Some(Renewal::Renewed { cancelled })
}

pub(super) fn roster(value: &Value) -> Option<Vec<Registered>> {
    array(value)?.iter().map(registered_session).collect()
}

fn registered_session(value: &Value) -> Option<Registered> {
    let [name, lives, answers_pings] = array(value)? else {
        return None;
    };
    Some(Registered {
        session: session(name)?,
        lives: flag(lives)?,
        answers_pings: flag(answers_pings)?,
    })
}

/// The targets of one session, joined by commas; none where it is not known.
pub(super) fn serving(value: &Value) -> Option<Vec<PurutoName>> {
    match value {
        Value::Nil => Some(Vec::new()),
        value => {
            let names = text(value)?.split(',').filter(|name| !name.is_empty());
            names.map(|name| name.parse().ok()).collect()
        }
    }
}

/// Pairs of member and nonce, in a row.
pub(super) fn claims(value: &Value) -> Option<Vec<(RequestKey, Nonce)>> {
    let (pairs, rest) = array(value)?.as_chunks::<2>();
    let pairs = pairs.iter().map(|[member, nonce]| {
        Some((keys::member(text(member)?)?, Nonce::recorded(text(nonce)?)?))
    });
    rest.is_empty().then(|| pairs.collect()).flatten()
}

/// Pairs of member and ack subject, in a row.
pub(super) fn held(value: &Value) -> Option<Vec<(RequestKey, AckToken)>> {
    let (pairs, rest) = array(value)?.as_chunks::<2>();
    let pairs = pairs
        .iter()
        .map(|[member, ack]| Some((keys::member(text(member)?)?, AckToken::new(text(ack)?))));
    rest.is_empty().then(|| pairs.collect()).flatten()
}

/// The epoch, or the number of partitions that the data set has instead of ours.
pub(super) fn registered(value: &Value) -> Option<Result<Epoch, u64>> {
    match array(value)? {
        [word, epoch] if text(word)? == "epoch" => Some(Ok(Epoch::recorded(text(epoch)?))),
        [word, number] if text(word)? == "partitions" => Some(Err(whole(number)?)),
        _ => None,
    }
}

/// The number of partitions that the data set has, unless that is `ours` or not yet decided.
pub(super) fn other_partitions(value: &Value, ours: Partitions) -> Option<u64> {
    whole(value).filter(|theirs| *theirs != u64::from(ours.number()))
}

/// `Some(None)` where there is no record.
pub(super) fn record(value: &Value) -> Option<Option<Record>> {
    if *value == Value::Nil {
        return Some(None);
    }
    let [
        now,
        state,
        owner,
        alive,
        cancel,
        chain,
        attempts,
        first,
        done,
        result,
        on,
        kin,
    ] = array(value)?
    else {
        return None;
    };
    let state = match text(state)? {
        "intended" => RecordState::Intended,
        "flagged" => RecordState::Flagged,
        "held" => RecordState::Held {
            owner: session(owner)?,
            owner_alive: flag(alive)?,
            cancelled: *cancel != Value::Nil,
        },
        "released" => RecordState::Released,
        "waiting" => RecordState::Waiting {
            on: kin::waits_on(on)?,
            cancelled: *cancel != Value::Nil,
        },
        "done" => RecordState::Done {
            result: bytes(result),
        },
        _ => return None,
    };
    let first_claimed = time(first);
    let until = time(done).or_else(|| time(now))?;
    let kin = kin::kin(kin)?.map_or_else(Kin::default, |kin| *kin);
    Some(Some(Record {
        state,
        correlation: correlation(chain),
        attempts: small(attempts)?,
        first_claimed,
        age: first_claimed.map_or(Duration::ZERO, |since| until.since(since)),
        lineage: kin.lineage,
        spent: kin.spent,
        verdict: kin.verdict,
    }))
}

pub(super) fn array(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

pub(super) fn text(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

pub(super) fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        other => text(other)?.parse().ok(),
    }
}

/// What `TIME` answers: seconds and microseconds.
pub(super) fn time_of_day(value: &Value) -> Option<WallTime> {
    let [seconds, micros] = array(value)? else {
        return None;
    };
    let millis = whole(seconds)?.checked_mul(1_000)? + whole(micros)? / 1_000;
    Some(WallTime::from_unix_millis(millis))
}

pub(super) fn small(value: &Value) -> Option<u32> {
    u32::try_from(whole(value)?).ok()
}

pub(super) fn flag(value: &Value) -> Option<bool> {
    match whole(value)? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

fn time(value: &Value) -> Option<WallTime> {
    whole(value).map(WallTime::from_unix_millis)
}

pub(super) fn bytes(value: &Value) -> Option<Bytes> {
    match value {
        Value::BulkString(bytes) => Some(Bytes::copy_from_slice(bytes)),
        _ => None,
    }
}

fn session(value: &Value) -> Option<SessionId> {
    text(value).map(SessionId::recorded)
}

fn correlation(value: &Value) -> Option<CorrelationId> {
    text(value)?.parse().ok()
}
