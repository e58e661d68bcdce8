//! Trail: what a walk did, a debug event a step, for whoever pieces together what happened.
//!
//! Off unless `log.filter` has `puruto_fleet::pipeline::trail=debug`; each event then names its
//! request, and a digest stands for a body.
//! Never: a prompt, an answer, or a decision.

use std::fmt;

use bytes::Bytes;
use tracing::{debug, field::display};

use super::{admit::Asked, claim::Hold};
use crate::{
    clock::WallTime,
    contract::{Fingerprint, Step},
    store::{
        CancelAnswer, RequestKey,
        kin::{Child, Lineage, Park, Woken},
    },
};

/// A claim was granted, at `granted` by the store's clock.
pub(super) fn claimed(asked: &Asked, hold: &Hold, granted: WallTime) {
    let (request_id, nonce, attempt) = (&asked.key.request, hold.nonce, hold.attempt.number());
    debug!(%request_id, %nonce, attempt, granted_ms = granted.unix_millis(), "claimed");
}

/// The handler begins, with the origin that the fleet wrote down.
pub(super) fn started(asked: &Asked, hold: &Hold) {
    let (request_id, nonce) = (&asked.key.request, hold.nonce);
    let lineage = hold.kin.lineage.as_ref();
    let parent = lineage.map(|it| display(&it.parent.request));
    let root = lineage.map(|it| display(&it.root.request));
    let hop = lineage.map(|it| it.hop.depth());
    let above = lineage.map(|it| display(&it.ancestry));
    debug!(%request_id, %nonce, parent, root, hop, above, "started");
}

/// A request waits for children; they are owed from now on.
pub(super) fn parked(asked: &Asked, hold: &Hold, park: &Park) {
    let RequestKey { target, request } = &asked.key;
    let bytes: usize = park.children.iter().map(|(_, body)| body.len()).sum();
    let (nonce, step, join, children) = (hold.nonce, park.step, park.join, Named(park));
    debug!(request_id = %request, puruto = %target, %nonce, step = step.number(), join, bytes, %children, "parked");
}

/// The store is asked to take a result.
pub(super) fn committing(asked: &Asked, hold: &Hold) {
    let (request_id, nonce) = (&asked.key.request, hold.nonce);
    debug!(%request_id, %nonce, "committing");
}

/// The store took it.
pub(super) fn committed(asked: &Asked, hold: &Hold, body: &Bytes) {
    let (request_id, nonce) = (&asked.key.request, hold.nonce);
    debug!(%request_id, %nonce, digest = %Fingerprint::of_bytes(body), "committed");
}

/// The store refused it: the claim was somebody else's by then.
pub(super) fn refused(asked: &Asked, hold: &Hold) {
    let (request_id, nonce) = (&asked.key.request, hold.nonce);
    debug!(%request_id, %nonce, "refused");
}

/// A result is sent to its place.
pub(super) fn publishing(asked: &Asked, body: &Bytes) {
    let request_id = &asked.key.request;
    debug!(%request_id, digest = %Fingerprint::of_bytes(body), "publishing");
}

/// Those who wait can have the answer; `own` unless it stands beside the request's place.
pub(super) fn published(asked: &Asked, own: bool) {
    debug!(request_id = %asked.key.request, own, "published");
}

/// The broker confirmed that the message is gone.
pub(super) fn acked(asked: &Asked) {
    debug!(request_id = %asked.key.request, "acked");
}

/// Nobody owns the request any more; it waits.
pub(super) fn let_go(asked: &Asked, hold: &Hold) {
    let (request_id, nonce) = (&asked.key.request, hold.nonce);
    debug!(%request_id, %nonce, "let go");
}

/// A parent was told of the end of this request.
pub(super) fn child_ended(asked: &Asked, lineage: &Lineage, woken: &Woken) {
    let (request_id, parent) = (&asked.key.request, &lineage.parent.request);
    let wakes = matches!(woken, Woken::Wake(_));
    debug!(%request_id, %parent, wakes, "child ended");
}

/// The handler is about to be told what came of a delegation.
pub(super) fn resumed(asked: &Asked, hold: &Hold, step: Step) {
    let (request_id, nonce) = (&asked.key.request, hold.nonce);
    debug!(%request_id, %nonce, step = step.number(), "resumed");
}

/// A request that nobody wants any more was flagged, unless it was done.
pub(super) fn unwanted(key: &RequestKey, answer: &CancelAnswer) {
    let done = matches!(answer, CancelAnswer::AlreadyDone);
    debug!(request_id = %key.request, done, "unwanted");
}

/// Children as `index:target/request`, separated by spaces.
struct Named<'p>(&'p Park);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (Child { place, key, .. }, _)) in self.0.children.iter().enumerate() {
            let space = if at == 0 { "" } else { " " };
            write!(f, "{space}{}:{}/{}", place.index, key.target, key.request)?;
        }
        Ok(())
    }
}
