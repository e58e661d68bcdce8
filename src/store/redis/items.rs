//! The batched operations: what each writes into its call and reads from the answer.

use std::time::Duration;

use redis::Value;

use super::{
    super::{Claim, ClaimAnswer, Commit, CommitAnswer, Nonce, RequestKey},
    answer,
    batcher::{Batched, Engine},
    call::Call,
    kin::Numbers,
    scripts::{self, Script},
};
use crate::contract::Spent;

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
pub(super) struct Committing {
    pub(super) key: RequestKey,
    pub(super) nonce: Nonce,
    pub(super) commit: Commit,
}

impl Batched for Committing {
    type Answer = CommitAnswer;
    const SCRIPT: &'static Script = &scripts::COMMIT;

    fn key(&self) -> &RequestKey {
        &self.key
    }

    fn payload(&self) -> usize {
        self.commit.result.len()
    }

    fn write_common(call: &mut Call, engine: &Engine) {
        call.millis(engine.kept_beside());
    }

    fn write(&self, call: &mut Call) {
        let Commit {
            result,
            cancelled,
            spent,
        } = &self.commit;
        call.text(self.nonce)
            .bytes(if *cancelled { b"1" } else { b"0" });
        // Most requests spend nothing that is counted.
        if *spent == Spent::default() {
            call.bytes(b"");
        } else {
            call.text(Numbers(spent));
        }
        call.bytes(result);
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
