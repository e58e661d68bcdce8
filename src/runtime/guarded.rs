//! The one stack around a model: build, enter the gate, attempt in time, read, validate, retry.
//!
//! Never: a decision of its own (the policy decides) or a spawned task; dropping the future of a
//! call abandons it, connection and all.

use std::time::Duration;

use tokio::time::{Instant, timeout};
use tracing::{Instrument as _, Span};

use super::{
    CallFailed, Fault, ModelAnswer, ModelCall, ModelName, Shared,
    budget::WhenSpent,
    config::{Mistake, ProviderConfig},
    connector::{Connector, Payload, Reply, transport::Permit},
    contract::{self, Draft},
    fault::Phase,
    fleet::Gate,
    observe::{self, CallDone, Observe, Validation},
    retry::{Attempt, Retry, RetryPolicy, Stop},
};

/// How often a call looks whether the retry budget has something for it, give or take half.
const BUDGET_LOOK: Duration = Duration::from_millis(500);

/// Calls one provider's model, with everything that makes a call resilient.
#[derive(Debug)]
pub struct AgentRuntime {
    connector: Connector,
    retry: RetryPolicy,
    gate: Gate,
    shared: Shared,
}

impl AgentRuntime {
    /// A runtime around `connector`.
    #[must_use]
    pub fn new(connector: Connector, retry: RetryPolicy, shared: Shared) -> Self {
        Self {
            gate: Gate::new(&connector, &shared),
            connector,
            retry,
            shared,
        }
    }

    /// A runtime as `config` describes it, with the default retries. Its key is looked up with
    /// `env` or read from its file, once.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub fn open(
        config: &ProviderConfig,
        env: impl Fn(&str) -> Option<String>,
        shared: Shared,
    ) -> Result<Self, Mistake> {
        let connector = config.connect(env, &shared)?;
        Ok(Self::new(connector, RetryPolicy::default(), shared))
    }

    /// The model that the configuration names.
    #[must_use]
    pub const fn model(&self) -> &ModelName {
        self.connector.model()
    }

    /// The provider's name.
    #[must_use]
    pub const fn provider(&self) -> &'static str {
        self.connector.provider()
    }

    pub(super) fn observe(&self) -> &dyn Observe {
        &*self.shared.observe
    }

    /// Asks until there is an answer that holds the output contract, or none is to be had before
    /// the deadline.
    ///
    /// # Errors
    /// The last attempt's fault and why no other followed.
    pub async fn call(&self, call: &ModelCall) -> Result<ModelAnswer, CallFailed> {
        let request = observe::request_span(call);
        let observed = self.observed(call, &request);
        observed.instrument(request.clone()).await
    }

    async fn observed(&self, call: &ModelCall, request: &Span) -> Result<ModelAnswer, CallFailed> {
        let started = Instant::now();
        observe::initiated(call, self.shared.clock.now());
        let outcome = self.answered(call, request).await;
        let took = started.elapsed();
        match &outcome {
            Ok(answer) => {
                let emit = observe::emit_span(answer.content.len());
                emit.in_scope(|| observe::completed(call, answer, took));
            }
            Err(failed) => observe::failed(call, failed),
        }
        self.shared.observe.request_done(&CallDone {
            provider: self.provider(),
            model: &call.model,
            took,
            to_first: call.time_to_first(),
            outcome: match &outcome {
                Ok(answer) => Ok(answer.usage),
                Err(failed) => Err(failed.fault.error_type()),
            },
        });
        outcome
    }

    async fn answered(&self, call: &ModelCall, request: &Span) -> Result<ModelAnswer, CallFailed> {
        let payload = self.built(call);
        let api_call = observe::api_call_span(&self.connector, call);
        let attempts = self.attempts(call, &payload, request);
        let outcome = attempts.instrument(api_call.clone()).await;
        observe::api_call_ended(&api_call, &outcome);
        observe::streamed(&api_call, call);
        outcome
    }

    fn built(&self, call: &ModelCall) -> Payload {
        let build = observe::build_span();
        let payload = build.in_scope(|| self.connector.build(call));
        build.record("payload_size", payload.size());
        payload
    }

    async fn attempts(
        &self,
        call: &ModelCall,
        payload: &Payload,
        request: &Span,
    ) -> Result<ModelAnswer, CallFailed> {
        let mut retries = self.retry.begin();
        loop {
            let attempt = call.made.next();
            let span = observe::retry_span(attempt);
            let tried = self.guarded(call, payload, attempt, request);
            let outcome = tried.instrument(span.clone()).await;
            observe::attempt_ended(&span, &outcome);
            self.counted(call, &outcome);
            let fault = match outcome {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            let why = match retries.next(&fault, attempt, &self.shared.chance, call.time_left()) {
                Retry::Stop(why) => why,
                Retry::After(delay) => {
                    observe::retrying(call, attempt, &fault, delay);
                    call.wait(delay).await;
                    if Box::pin(self.affordable(call)).await {
                        self.shared.observe.retried(&call.model, fault.error_type());
                        continue;
                    }
                    Stop::BudgetSpent
                }
            };
            return Err(CallFailed {
                attempts: call.made.next().number(),
                fault,
                why,
                routes: Vec::new(),
            });
        }
    }

    /// Waits until the budget has a retry; not before an open breaker, which lets none through.
    /// `false` when there is none before the deadline, or the call is not to wait for it.
    async fn affordable(&self, call: &ModelCall) -> bool {
        while !self.gate.is_open() && !self.shared.budget.spend() {
            let wait = self.shared.chance.around(BUDGET_LOOK, 0.5);
            if call.when_spent == WhenSpent::Stop || wait >= call.time_left() {
                return false;
            }
            call.wait(wait).await;
        }
        true
    }

    /// Waits until an attempt may be made, and tells how it ended.
    async fn guarded(
        &self,
        call: &ModelCall,
        payload: &Payload,
        attempt: Attempt,
        request: &Span,
    ) -> Result<ModelAnswer, Fault> {
        if !self.retry.allows(attempt) {
            return Err(Fault::CallsSpent {
                calls: attempt.number(),
            });
        }
        let leave = self.gate.enter(call, payload).await?;
        let outcome = self.attempt(call, payload, attempt, request).await;
        leave.end(&outcome);
        outcome
    }

    async fn attempt(
        &self,
        call: &ModelCall,
        payload: &Payload,
        attempt: Attempt,
        request: &Span,
    ) -> Result<ModelAnswer, Fault> {
        call.begin_attempt();
        let reply = self.reply_in_time(call, payload, attempt, request).await?;
        let draft = self.read(call, reply, request)?;
        self.validated(call, draft, request)
    }

    /// One of our connections first, then the server, whose time begins with the connection: a
    /// crowd of our own calls is no slowness of the server.
    async fn reply_in_time(
        &self,
        call: &ModelCall,
        payload: &Payload,
        attempt: Attempt,
        request: &Span,
    ) -> Result<Reply, Fault> {
        let permit = self.connector.acquire(self.limit(call)?, request).await;
        let outcome = match permit {
            Ok(permit) => self.tried_in_time(call, payload, attempt, permit).await,
            Err(crowded) => Err(crowded),
        };
        match outcome {
            Err(Fault::Timeout { .. }) if call.time_left().is_zero() => Err(Fault::DeadlinePassed),
            outcome => outcome,
        }
    }

    /// The body is read inside the limit too: a server that trickles it gains nothing.
    async fn tried_in_time(
        &self,
        call: &ModelCall,
        payload: &Payload,
        attempt: Attempt,
        permit: Permit,
    ) -> Result<Reply, Fault> {
        // It may have closed to us while others had every connection.
        self.gate.recheck()?;
        let after = self.limit(call)?;
        call.made.add();
        if attempt == Attempt::FIRST {
            self.shared.budget.called();
        }
        let tried = self.connector.attempt(call, payload, attempt, permit);
        let phase = Phase::Attempt;
        let late = |_| Err(Fault::Timeout { phase, after });
        timeout(after, tried).await.unwrap_or_else(late)
    }

    /// How long a server may take for what is left to do.
    fn limit(&self, call: &ModelCall) -> Result<Duration, Fault> {
        match call.time_left() {
            Duration::ZERO => Err(Fault::DeadlinePassed),
            time_left => Ok(self.connector.request_timeout().min(time_left)),
        }
    }

    fn read(&self, call: &ModelCall, reply: Reply, request: &Span) -> Result<Draft, Fault> {
        let span = observe::parse_span(request, reply.size());
        span.in_scope(|| self.connector.read(call, reply))
    }

    fn validated(
        &self,
        call: &ModelCall,
        draft: Draft,
        request: &Span,
    ) -> Result<ModelAnswer, Fault> {
        let span = observe::validate_span(request);
        let shape = self.connector.shape(call);
        let verdict = span.in_scope(|| contract::check(draft, shape));
        observe::validate_ended(&span, &verdict.answer);
        observe::coerced(call, &verdict.coercions);
        verdict.answer
    }

    /// Counts what the contract said, also of a reply that was no answer at all.
    fn counted(&self, call: &ModelCall, outcome: &Result<ModelAnswer, Fault>) {
        match outcome.as_ref().map_err(Fault::violations) {
            Ok(_) => self.shared.observe.validated(Validation::Valid),
            Err(Some(violations)) => {
                self.shared.observe.validated(Validation::Invalid);
                observe::violated(call, violations);
            }
            // The contract was not asked.
            Err(None) => {}
        }
    }
}

#[cfg(test)]
mod streaming_tests;
#[cfg(test)]
mod tests;
