//! Trail: what a walk did, a debug event a step, for whoever pieces together what happened.
//!
//! Off unless `log.filter` has `puruto_fleet::pipeline::trail=debug`; each event then names its
//! request, and a digest stands for a body.
//! Never: a prompt, an answer, or a decision.

use bytes::Bytes;
use tracing::debug;

use super::{admit::Asked, claim::Hold};
use crate::{clock::WallTime, contract::Fingerprint};

/// A claim was granted, at `granted` by the store's clock.
pub(super) fn claimed(asked: &Asked, hold: &Hold, granted: WallTime) {
    let (request_id, nonce, attempt) = (&asked.key.request, hold.nonce, hold.attempt.number());
    debug!(%request_id, %nonce, attempt, granted_ms = granted.unix_millis(), "claimed");
}

/// The handler begins.
pub(super) fn started(asked: &Asked, hold: &Hold) {
    let (request_id, nonce) = (&asked.key.request, hold.nonce);
    debug!(%request_id, %nonce, "started");
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
