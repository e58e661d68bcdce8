//! The batched operations: what each writes into its call and reads from the answer.

use std::time::Duration;

use bytes::Bytes;
use redis::Value;

use super::{
    super::{Claim, ClaimAnswer, CommitAnswer, FLAG_RETENTION, Nonce, RequestKey},
    answer,
    batcher::{Batched, Engine},
    call::Call,
    scripts::{self, Script},
};

/// How long a settlement waits for others: nobody waits for it.
const SETTLE_LINGER: Duration = Duration::from_millis(20);

impl Batched for Claim {
    type Answer = ClaimAnswer;
    const SCRIPT: &'static Script = &scripts::CLAIM;

    fn key(&self) -> &RequestKey {
        &self.key
    }

    fn write_common(call: &mut Call, engine: &Engine) {
        call.millis(engine.retention).text(engine.max_attempts);
    }

    fn write(&self, call: &mut Call) {
        call.bytes(self.session.as_str().as_bytes())
            .text(self.nonce)
            .text(self.fingerprint)
            .bytes(self.correlation.as_str().as_bytes())
            .bytes(self.ack.as_str().as_bytes())
            .text(self.deadline.at().unix_millis());
    }

    fn read(value: &Value) -> Option<ClaimAnswer> {
        answer::claim(value)
    }
}

/// A result on its way into its record.
#[derive(Debug)]
pub(super) struct Commit {
    pub(super) key: RequestKey,
    pub(super) nonce: Nonce,
    pub(super) result: Bytes,
    pub(super) cancelled: bool,
}

impl Batched for Commit {
    type Answer = CommitAnswer;
    const SCRIPT: &'static Script = &scripts::COMMIT;

    fn key(&self) -> &RequestKey {
        &self.key
    }

    fn payload(&self) -> usize {
        self.result.len()
    }

    fn write_common(call: &mut Call, engine: &Engine) {
        // No request may take longer than a flag is kept, so no record outlives its result.
        call.millis(engine.retention + FLAG_RETENTION);
    }

    fn write(&self, call: &mut Call) {
        call.text(self.nonce)
            .bytes(if self.cancelled { b"1" } else { b"0" })
            .bytes(&self.result);
    }

    fn read(value: &Value) -> Option<CommitAnswer> {
        answer::commit(value)
    }
}

/// A request that is published and acked.
#[derive(Debug)]
pub(super) struct Settle(pub(super) RequestKey);

impl Batched for Settle {
    type Answer = ();
    const SCRIPT: &'static Script = &scripts::SETTLE;
    const LINGER: Duration = SETTLE_LINGER;

    fn key(&self) -> &RequestKey {
        &self.0
    }

    fn read(value: &Value) -> Option<()> {
        (answer::text(value)? == "settled").then_some(())
    }
}
