//! The port to the runs of agents, each operation one call of its script.

use redis::Value;

use super::{
    super::{
        RequestKey, Runs, StoreFault,
        kin::Owned,
        run::{
            Checkpoint, CheckpointAnswer, NewRun, Operation, Revision, Run, RunEvent, RunExhausted,
            RunLimits, RunStatus,
        },
    },
    RedisStore,
    answer::{array, small, text, whole},
    call::Call,
    fault,
    kin::{Numbers, optional, spent_of},
    ports::read,
    scripts,
};
use crate::{
    clock::WallTime,
    contract::{Exhausted, Good, Limits, Step},
};

impl Runs for RedisStore {
    async fn create(&self, key: &RequestKey, new: &NewRun) -> Result<Run, StoreFault> {
        let mut call = self.on(&scripts::RUN_CREATE, key, new.goal.len());
        call.millis(self.0.engine.kept_beside())
            .bytes(new.model.as_bytes())
            .bytes(new.goal.as_bytes())
            .bytes(new.told().as_bytes());
        let made = self.0.engine.link.call(&call).await?;
        let run = self.run(key).await?;
        // It can be missing only where the store was emptied in between.
        run.ok_or_else(|| fault::nonsense(scripts::RUN_CREATE.name, &made))
    }

    async fn run(&self, key: &RequestKey) -> Result<Option<Run>, StoreFault> {
        let call = self.on(&scripts::RUN_READ, key, 0);
        let value = self.0.engine.link.call(&call).await?;
        read(&scripts::RUN_READ, &value, run)
    }

    async fn events(&self, key: &RequestKey, after: u64) -> Result<Vec<RunEvent>, StoreFault> {
        let mut call = self.on(&scripts::RUN_EVENTS, key, 0);
        call.text(after);
        let value = self.0.engine.link.call(&call).await?;
        read(&scripts::RUN_EVENTS, &value, |it| {
            let events = array(it)?.iter().zip(after + 1..);
            events.map(|(text, seq)| event(seq, text)).collect()
        })
    }

    async fn checkpoint(
        &self,
        owned: &Owned,
        checkpoint: &Checkpoint,
    ) -> Result<CheckpointAnswer, StoreFault> {
        let mut call = self.on(&scripts::CHECKPOINT, &owned.key, 0);
        call.text(owned.nonce).millis(self.0.engine.kept_beside());
        write(&mut call, checkpoint);
        let value = self.0.engine.link.call(&call).await?;
        read(&scripts::CHECKPOINT, &value, checkpointed)
    }
}

fn write(call: &mut Call, checkpoint: &Checkpoint) {
    match checkpoint {
        Checkpoint::Reserve { limits } => write_limits(call.bytes(b"reserve"), limits),
        Checkpoint::Accept {
            revision,
            decision,
            spent,
        } => {
            call.bytes(b"accept")
                .text(revision)
                .bytes(decision.as_bytes())
                .text(Numbers(spent));
        }
        Checkpoint::Execute {
            revision,
            operation,
            report,
        } => {
            call.bytes(b"execute")
                .text(revision)
                .bytes(operation.decision.as_bytes())
                .bytes(operation.result.as_bytes())
                .bytes(if report.is_some() { b"1" } else { b"0" })
                .bytes(report.as_deref().unwrap_or_default().as_bytes());
        }
        Checkpoint::Charge { spent } => {
            call.bytes(b"charge").text(Numbers(spent));
        }
        Checkpoint::End { status, reason } => {
            call.bytes(b"end").text(status).bytes(reason.as_bytes());
        }
    }
}

fn write_limits(call: &mut Call, limits: &RunLimits) {
    let Limits {
        requests,
        tokens,
        cost,
        descendants: _,
    } = limits.tree;
    call.text(limits.steps).text(limits.requests);
    for limit in [requests, tokens, cost.map(|it| it.0)] {
        match limit {
            Some(limit) => call.text(limit),
            None => call.bytes(b""),
        };
    }
}

fn checkpointed(value: &Value) -> Option<CheckpointAnswer> {
    let (word, rest) = array(value)?.split_first()?;
    match (text(word)?, rest) {
        ("written", [revision]) => {
            let revision = Revision::new(whole(revision)?);
            Some(CheckpointAnswer::Written(revision))
        }
        ("stale", []) => Some(CheckpointAnswer::Stale),
        ("lost", []) => Some(CheckpointAnswer::Lost),
        ("exhausted", [limit, reached, most]) => {
            let tree = |good| {
                let (reached, limit) = (whole(reached)?, whole(most)?);
                Some(RunExhausted::Tree(Exhausted {
                    good,
                    reached,
                    limit,
                }))
            };
            let exhausted = match text(limit)? {
                "steps" => RunExhausted::Steps,
                "own_requests" => RunExhausted::Requests,
                "requests" => tree(Good::Requests)?,
                "tokens" => tree(Good::Tokens)?,
                "cost" => tree(Good::Cost)?,
                _ => return None,
            };
            Some(CheckpointAnswer::Exhausted(exhausted))
        }
        _ => None,
    }
}

/// `Some(None)` where there is no run.
fn run(value: &Value) -> Option<Option<Run>> {
    if *value == Value::Nil {
        return Some(None);
    }
    let [
        status,
        step,
        requests,
        revision,
        pending,
        model,
        goal,
        report,
        reason,
        past,
        spent,
    ] = array(value)?
    else {
        return None;
    };
    Some(Some(Run {
        status: RunStatus::recorded(text(status)?)?,
        step: Step::new(small(step)?),
        requests: small(requests)?,
        revision: Revision::new(whole(revision)?),
        pending: optional(pending, owned_text)?,
        model: owned_text(model)?,
        goal: owned_text(goal)?,
        past: operations(past)?,
        report: optional(report, owned_text)?,
        reason: optional(reason, owned_text)?,
        spent: spent_of(array(spent)?)?,
    }))
}

/// Pairs of decision and result, in a row.
fn operations(value: &Value) -> Option<Vec<Operation>> {
    let (pairs, rest) = array(value)?.as_chunks::<2>();
    let pairs = pairs.iter().map(|[decision, result]| {
        Some(Operation {
            decision: owned_text(decision)?,
            result: owned_text(result)?,
        })
    });
    rest.is_empty().then(|| pairs.collect()).flatten()
}

/// `ms kind payload`.
fn event(seq: u64, value: &Value) -> Option<RunEvent> {
    let mut parts = text(value)?.splitn(3, ' ');
    Some(RunEvent {
        seq,
        at: WallTime::from_unix_millis(parts.next()?.parse().ok()?),
        kind: parts.next()?.to_owned(),
        payload: parts.next()?.to_owned(),
    })
}

fn owned_text(value: &Value) -> Option<String> {
    text(value).map(str::to_owned)
}
