//! The end of a run: waits until nothing is owed any more, then reads what stands where.

use std::{collections::BTreeMap, io, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream};
use tokio::time::{Instant, sleep};

use super::{
    desk::Desk,
    history::{Digest, Event},
    raw::Raw,
};
use crate::{
    broker::{BrokerFault, StreamName},
    contract::{InvocationResult, Outcome, RequestId},
    dev::port::Port,
    store::Supervision as _,
};

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How many results are read at once.
const READERS: usize = 16;
/// How often a result is read again that could not be read.
const READS: usize = 10;
/// How many messages of a stream are looked at.
const MESSAGES_MAX: usize = 100_000;
/// Which message of the stream a dead letter was.
const DEAD_SEQUENCE: &str = "Puruto-Dead-Sequence";

/// Waits until every accepted request has its result, the stream is empty and no dead session is
/// on the roster, but no longer than `within`.
pub(super) async fn quiet(desk: &Arc<Desk>, nats: Port, within: Duration) {
    let end = Instant::now() + within;
    while Instant::now() < end {
        if is_quiet(desk, nats).await {
            desk.recorder.note(Event::Settled);
            return;
        }
        sleep(LOOK_EVERY).await;
    }
}

async fn is_quiet(desk: &Arc<Desk>, nats: Port) -> bool {
    for (request, asked) in desk.asked() {
        if asked.heard {
            continue;
        }
        match desk.nats.read_result(&asked.place).await {
            Ok(Some(_)) => desk.found(&request),
            Ok(None) | Err(_) => return false,
        }
    }
    let nothing_left = async {
        let stream = StreamName::invoke(&desk.subjects);
        let first = Raw::connect(nats).await?.from(stream.as_str(), 1).await?;
        Ok::<_, io::Error>(first.is_none())
    };
    let roster = desk.store.roster().await;
    let nobody_dead = roster.is_ok_and(|all| all.iter().all(|it| it.lives));
    nobody_dead && nothing_left.await.unwrap_or(false)
}

/// Adds to the history what stands now.
///
/// # Errors
/// A server does not answer although nothing is done to it any more.
pub(super) async fn read(desk: &Arc<Desk>, nats: Port, secret: &str) -> io::Result<()> {
    let asked = desk.asked().into_iter();
    let asked = asked.map(|(request, asked)| (request, asked.place));
    // One that was heard is in both.
    let all: BTreeMap<_, _> = asked.chain(desk.foreseen()).collect();
    let reads = all.into_iter();
    let reads = reads.map(|(request, place)| standing(desk, request, place, secret));
    let mut reads = stream::iter(reads).buffer_unordered(READERS);
    while let Some(read) = reads.next().await {
        read.map_err(io::Error::other)?;
    }
    let mut raw = Raw::connect(nats).await?;
    left(desk, &mut raw).await?;
    dead(desk, &mut raw, secret).await?;
    let roster = desk.store.roster().await.map_err(io::Error::other)?;
    for registered in roster.iter().filter(|it| !it.lives) {
        let session = registered.session.to_string();
        desk.recorder.note(Event::DeadSessionHolds { session });
    }
    Ok(())
}

async fn standing(
    desk: &Desk,
    request: RequestId,
    place: String,
    secret: &str,
) -> Result<(), BrokerFault> {
    let mut tries = 1;
    let stored = loop {
        match desk.nats.read_result(&place).await {
            Ok(stored) => break stored,
            Err(fault) if tries == READS => return Err(fault),
            Err(_) => tries += 1,
        }
        sleep(LOOK_EVERY).await;
    };
    let Some(stored) = stored else { return Ok(()) };
    if String::from_utf8_lossy(&stored.body).contains(secret) {
        let place = format!("the result of {request}");
        desk.recorder.note(Event::Leaked { place });
    }
    let result = serde_json::from_slice::<InvocationResult>(&stored.body).ok();
    let error = result.and_then(|it| match it.outcome {
        Outcome::Ok(_) => None,
        Outcome::Error(error) => Some(error),
    });
    desk.recorder.note(Event::Stands {
        request,
        digest: Digest::of(&stored.body),
        code: error.as_ref().map(|it| it.code),
        kind: error.and_then(|it| it.kind().map(str::to_owned)),
    });
    Ok(())
}

async fn left(desk: &Desk, raw: &mut Raw) -> io::Result<()> {
    let stream = StreamName::invoke(&desk.subjects);
    let mut next = 1;
    for _ in 0..MESSAGES_MAX {
        let Some((sequence, _)) = raw.from(stream.as_str(), next).await? else {
            break;
        };
        desk.recorder.note(Event::LeftInStream { sequence });
        next = sequence + 1;
    }
    Ok(())
}

async fn dead(desk: &Desk, raw: &mut Raw, secret: &str) -> io::Result<()> {
    let stream = StreamName::dead_letters(&desk.subjects);
    let mut next = 1;
    for _ in 0..MESSAGES_MAX {
        let Some((sequence, letter)) = raw.from(stream.as_str(), next).await? else {
            break;
        };
        if letter.text().contains(secret) {
            let place = format!("dead letter {sequence}");
            desk.recorder.note(Event::Leaked { place });
        }
        if let Some(sequence) = letter.number(DEAD_SEQUENCE) {
            desk.recorder.note(Event::DeadLettered { sequence });
        }
        next = sequence + 1;
    }
    Ok(())
}
