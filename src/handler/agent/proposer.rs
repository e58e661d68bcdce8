//! Who decides: a model, or the policy of the tests.
//!
//! Never: a repair of its own, or a count of what was asked; each question was paid for before.

use std::{fmt, sync::Arc};

use serde::Deserialize;
use tokio::time::sleep;

use super::{
    decision::{self, Decision},
    offer::Offer,
    past::Past,
    prompt,
    simulated::{self, Simulated},
};
use crate::{
    contract::{IpcKind, ResultError, Spent, Violation},
    handler::{Context, OnCircuitOpen, Prices},
    runtime::{
        CallFailed, Fault, Message, ModelAnswer, ModelCall,
        calls_made::CallsMade,
        contract::{AnswerShape, unfenced},
        routes::{RouteAt, Routes},
    },
};

/// How a model says what it decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decisions {
    /// As JSON, which a schema constrains.
    #[default]
    Json,
    /// As the call of a function.
    ToolCalls,
}

/// Who decides for an agent.
#[derive(Debug)]
pub enum Proposer {
    /// A policy that is no model.
    Simulated(Simulated),
    /// A model.
    Model(Box<Model>),
}

/// A model that decides.
pub struct Model {
    /// Where it is asked: a new run keeps to the first route for good, and uses the others where
    /// that one fails.
    pub routes: Routes,
    /// How it says what it decides.
    pub decisions: Decisions,
    /// What becomes of a run whose model's circuit breaker is open.
    pub on_circuit_open: OnCircuitOpen,
    /// What its answers cost.
    pub prices: Prices,
    /// The Puruto's own instruction.
    pub prompt: Option<Arc<str>>,
}

impl fmt::Debug for Model {
    /// Without the prompt: it never reaches a log by way of `{:?}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("routes", &self.routes)
            .field("decisions", &self.decisions)
            .finish_non_exhaustive()
    }
}

/// What is to be decided on.
pub(super) struct Question<'q> {
    /// Where the run's model is asked.
    pub(super) route: &'q str,
    pub(super) goal: &'q str,
    pub(super) past: &'q Past,
    pub(super) offer: &'q Offer,
    pub(super) steps_left: u32,
    /// What was said to it before that was no decision, and why.
    pub(super) unfit: Option<Unfit>,
}

/// An answer that is no decision.
#[derive(Debug)]
pub(super) struct Unfit {
    said: String,
    pub(super) violations: Vec<Violation>,
}

/// An answer, and what it cost beyond the one request that it was.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) decision: Result<Decision, Unfit>,
    pub(super) spent: Spent,
}

/// There is no answer, at this cost.
#[derive(Debug)]
pub(super) struct Unheard {
    pub(super) error: ResultError,
    pub(super) spent: Spent,
}

impl Proposer {
    /// What the route is called that a new run keeps to.
    pub(super) fn route(&self) -> String {
        match self {
            Self::Simulated(_) => simulated::ROUTE.to_owned(),
            Self::Model(model) => model.routes.name(),
        }
    }

    /// Asks for a decision.
    ///
    /// # Errors
    /// There is none to be had.
    pub(super) async fn ask(
        &self,
        context: &Context,
        question: &Question<'_>,
    ) -> Result<Heard, Unheard> {
        match self {
            Self::Simulated(policy) if question.route == simulated::ROUTE => {
                simulate(policy, question).await
            }
            Self::Simulated(_) => Err(unknown(question.route, simulated::ROUTE)),
            Self::Model(model) => match model.routes.find(question.route) {
                Some(route) => model.ask(route, context, question).await,
                None => Err(unknown(question.route, &model.routes.name())),
            },
        }
    }
}

fn unknown(route: &str, now: &str) -> Unheard {
    let message = format!(
        "the run was begun with the model {route:?}, which this agent does not have any more (it \
         has {now:?} now): give it back to it as a fallback, or begin a new run"
    );
    Unheard {
        error: ResultError::ipc(IpcKind::ModelUnavailable, message),
        spent: Spent::default(),
    }
}

async fn simulate(policy: &Simulated, question: &Question<'_>) -> Result<Heard, Unheard> {
    let said = policy.decide(question.goal, question.past);
    let said = said.map_err(|error| Unheard {
        error: ResultError::ipc(IpcKind::Internal, error.to_string()),
        spent: Spent::default(),
    })?;
    sleep(said.after).await;
    let text = said.decision.to_string();
    let decision = decision::read(said.decision);
    Ok(Heard {
        decision: decision.map_err(|violations| Unfit {
            said: text,
            violations,
        }),
        spent: Spent::default(),
    })
}

impl Model {
    async fn ask(
        &self,
        route: RouteAt,
        context: &Context,
        question: &Question<'_>,
    ) -> Result<Heard, Unheard> {
        // Counted anew: each question has its own attempts.
        let made = CallsMade::default();
        let call = self.call(context, &made, question);
        let outcome = self.asked(route, &call).await;
        // One of them was paid for before.
        let further = made.total().saturating_sub(1);
        let (answer, decision) = match outcome {
            Ok(answer) => {
                let decision = self.decision(&answer, question.offer);
                (answer, decision)
            }
            // Judged by what a decision is, which says more than what the schema says.
            Err(CallFailed {
                fault: Fault::Unfit(unfit),
                ..
            }) => {
                let decision = read(&unfit.answer.content);
                (unfit.answer, decision)
            }
            Err(failed) => {
                return Err(Unheard {
                    error: failed.to_result_error(),
                    spent: Spent {
                        requests: further,
                        ..Spent::default()
                    },
                });
            }
        };
        Ok(Heard {
            decision,
            spent: Spent {
                requests: further,
                tokens: answer.usage.total_tokens,
                cost: self.prices.cost(&answer.model, &answer.usage),
                ..Spent::default()
            },
        })
    }

    /// Whoever gave the deadline ends the waiting there.
    async fn asked(&self, route: RouteAt, call: &ModelCall) -> Result<ModelAnswer, CallFailed> {
        loop {
            let outcome = self.routes.call_from(route, call).await;
            let failed = outcome.as_ref().err();
            match failed.and_then(|it| self.on_circuit_open.parks(it)) {
                Some(delay) => call.wait(delay).await,
                None => return outcome,
            }
        }
    }

    fn call(&self, context: &Context, made: &CallsMade, question: &Question<'_>) -> ModelCall {
        let (answer, tools) = match self.decisions {
            Decisions::Json => (question.offer.shape(), Vec::new()),
            Decisions::ToolCalls => (AnswerShape::Text, question.offer.functions()),
        };
        ModelCall {
            answer,
            tools: tools.into(),
            made: made.count(0),
            waiting: Some(Arc::clone(&context.waiting)),
            ..ModelCall::new(
                context.request.request_id.clone(),
                self.routes.model().clone(),
                self.messages(question),
                context.deadline,
            )
        }
    }

    fn messages(&self, question: &Question<'_>) -> Vec<Message> {
        let offered = question.offer.described();
        let system = prompt::system(self.prompt.as_deref(), self.decisions, &offered);
        let user = prompt::user(question.goal, question.past, question.steps_left);
        let corrected = question.unfit.as_ref();
        let corrected = corrected.map(|it| prompt::correction(&it.said, &it.violations));
        let corrected = corrected.into_iter().flatten();
        [system, user].into_iter().chain(corrected).collect()
    }

    fn decision(&self, answer: &ModelAnswer, offer: &Offer) -> Result<Decision, Unfit> {
        match (self.decisions, answer.tool_calls.first()) {
            // Of several the first: the model sees what came of it, and can ask for the rest.
            (Decisions::ToolCalls, Some(call)) => {
                let called = offer.called(&call.name, &call.arguments);
                called.map_err(|violations| Unfit {
                    said: prompt::called(&call.name, &call.arguments),
                    violations,
                })
            }
            // Some models write down what they were to call.
            (Decisions::ToolCalls, None) | (Decisions::Json, _) => read(&answer.content),
        }
    }
}

fn read(said: &str) -> Result<Decision, Unfit> {
    let decision = decision::text(unfenced(said).unwrap_or(said));
    decision.map_err(|violations| Unfit {
        said: said.to_owned(),
        violations,
    })
}
