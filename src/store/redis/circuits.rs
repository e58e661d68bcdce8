//! The port of circuits: one script before an attempt, one after it.

use std::time::Duration;

use redis::Value;

use super::{
    super::{Circuits, StoreFault},
    RedisStore, answer,
    call::Call,
    ports::read,
    scripts::{self, Script},
};
use crate::circuit::{
    Admission, Ask, BreakerRules, BreakerState, CircuitName, Ended, Generation, HOLD_MAX, Outcome,
    PerMinute, Refusal, Spent, Standing, Throttle, Throttled,
};

impl Circuits for RedisStore {
    async fn admit(&self, circuit: &CircuitName, ask: &Ask) -> Result<Admission, StoreFault> {
        let mut call = self.on_circuit(&scripts::CIRCUIT_ADMIT, circuit, ask.rules);
        let limits = ask.limits;
        call.text(ask.pass);
        for limit in [limits.requests_per_minute, limits.tokens_per_minute] {
            call.text(limit.map_or(0, PerMinute::burst))
                .text(limit.map_or(0, PerMinute::refill));
        }
        call.text(
            limits
                .tokens_per_minute
                .map_or(0, |it| it.clamp(ask.tokens)),
        );
        let value = self.0.engine.link.call(&call).await?;
        read(&scripts::CIRCUIT_ADMIT, &value, admission)
    }

    async fn report(
        &self,
        circuit: &CircuitName,
        outcome: &Outcome,
    ) -> Result<Admission, StoreFault> {
        let mut call = self.on_circuit(&scripts::CIRCUIT_REPORT, circuit, outcome.rules);
        call.text(outcome.pass);
        match outcome.generation {
            Some(Generation(generation)) => call.text(generation),
            None => call.text(""),
        };
        call.text(match outcome.ended {
            Ended::Success => "success",
            Ended::Failure => "failure",
            Ended::Neutral => "neutral",
        });
        call.millis(outcome.retry_after.unwrap_or_default().min(HOLD_MAX));
        match outcome.spent {
            Spent::Unsent => call.text("unsent"),
            Spent::Unknown => call.text("unknown"),
            Spent::Tokens(tokens) => call.text(tokens),
        };
        let value = self.0.engine.link.call(&call).await?;
        read(&scripts::CIRCUIT_REPORT, &value, admission)
    }
}

impl RedisStore {
    fn on_circuit(
        &self,
        script: &'static Script,
        circuit: &CircuitName,
        rules: BreakerRules,
    ) -> Call {
        let mut call = Call::new(script, 1, 0);
        call.text(self.0.engine.keys.circuit(circuit))
            .millis(rules.window)
            .text(rules.finished_min)
            .text(rules.failed_percent)
            .millis(rules.open_for)
            .text(rules.probes)
            .text(rules.majority)
            .millis(rules.probe_lease);
        call
    }
}

fn admission(value: &Value) -> Option<Admission> {
    match answer::array(value)? {
        [word, state, generation] if answer::text(word)? == "admitted" => {
            Some(Admission::Admitted(Some(Standing {
                state: breaker_state(state)?,
                generation: Generation(answer::whole(generation)?),
            })))
        }
        [word, state, left, percent] if answer::text(word)? == "refused" => {
            Some(Admission::Refused(Refusal {
                state: breaker_state(state)?,
                retry_in: millis(left)?,
                failed_percent: answer::whole(percent)?.try_into().ok()?,
            }))
        }
        [word, why, left] if answer::text(word)? == "throttled" => {
            Some(Admission::Throttled(Throttled {
                wait: millis(left)?,
                by: match answer::text(why)? {
                    "retry_after" => Throttle::RetryAfter,
                    "requests" => Throttle::Requests,
                    "tokens" => Throttle::Tokens,
                    _ => return None,
                },
            }))
        }
        _ => None,
    }
}

fn breaker_state(value: &Value) -> Option<BreakerState> {
    match answer::text(value)? {
        "closed" => Some(BreakerState::Closed),
        "open" => Some(BreakerState::Open),
        "half_open" => Some(BreakerState::HalfOpen),
        _ => None,
    }
}

fn millis(value: &Value) -> Option<Duration> {
    answer::whole(value).map(Duration::from_millis)
}
