//! The body of a request: whole, within its bounds, before any route sees it.
//!
//! No route waits for a body, and one that trickles in holds nothing but its connection.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::Request,
    http::header::CONTENT_LENGTH,
};
use http_body_util::BodyExt as _;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::Refusal;

/// Bytes of bodies that are held at a time, of all requests.
const HELD_BYTES: usize = 256 * 1024 * 1024;
/// What is counted as one of them; the count has to fit a semaphore.
const UNIT: usize = 1_024;
/// Room that a body without a length takes first; then as much again, and so on.
const FIRST_ROOM: usize = 4 * 1_024;

/// What bodies may take.
#[derive(Clone, Debug)]
pub(super) struct Bodies {
    limit: usize,
    within: Duration,
    room: Arc<Semaphore>,
}

/// The room that a body takes, until this is dropped.
pub(super) type Room = Option<OwnedSemaphorePermit>;

impl Bodies {
    pub(super) fn new(limit: usize, within: Duration) -> Self {
        let room = HELD_BYTES.max(limit) / UNIT;
        Self {
            limit,
            within,
            room: Arc::new(Semaphore::new(room)),
        }
    }

    /// The request with its body in memory, and the room that it takes.
    pub(super) async fn whole(&self, request: Request) -> Result<(Request, Room), Refusal> {
        let (head, body) = request.into_parts();
        let announced = head.headers.get(CONTENT_LENGTH);
        let announced = announced.and_then(|it| it.to_str().ok()?.parse().ok());
        if announced.is_some_and(|length: usize| length > self.limit) {
            return Err(Refusal::BodyTooLarge { limit: self.limit });
        }
        let within = self.within;
        let read = timeout(within, self.read(body)).await;
        let (bytes, room) = read.unwrap_or(Err(Refusal::BodyLate { within }))?;
        Ok((Request::from_parts(head, Body::from(bytes)), room))
    }

    async fn read(&self, mut body: Body) -> Result<(Bytes, Room), Refusal> {
        let (mut held, mut room) = (Vec::new(), None);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_broken| Refusal::BodyBroken)?;
            // Trailers mean nothing to any route.
            let Ok(data) = frame.into_data() else {
                continue;
            };
            let length = held.len() + data.len();
            if length > self.limit {
                return Err(Refusal::BodyTooLarge { limit: self.limit });
            }
            if length > held.capacity() {
                let larger = length.max(held.capacity() * 2).max(FIRST_ROOM);
                self.grow(&mut room, larger - held.capacity())?;
                held.reserve_exact(larger - held.len());
            }
            held.extend_from_slice(&data);
        }
        Ok((held.into(), room))
    }

    fn grow(&self, room: &mut Room, bytes: usize) -> Result<(), Refusal> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).map_err(|_| Refusal::Crowded)?;
        let more = Arc::clone(&self.room).try_acquire_many_owned(units);
        let more = more.map_err(|_full| Refusal::Crowded)?;
        match room {
            Some(room) => room.merge(more),
            None => *room = Some(more),
        }
        Ok(())
    }
}
