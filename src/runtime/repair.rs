//! Asks once more where an answer has another form than was asked for.
//!
//! The model is shown what it said and what is wrong with it. Never: more than one such call, or
//! one for an answer that was cut short: it would be cut again.

use std::fmt::Write as _;

use serde::Deserialize;

use super::{
    CallFailed, Fault, Message, ModelAnswer, ModelCall, ModelName, Usage,
    fault::Unfit,
    observe,
    routes::{ROUTES_MAX, Routes},
};
use crate::contract::Violation;

/// How often a model is asked to correct the form of its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "i64")]
pub enum Repair {
    /// Not at all.
    #[default]
    Never,
    /// Once; a second answer that is wrong too is final.
    Once,
}

/// A number that is no [`Repair`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected 0 or 1, got {0}")]
pub struct InvalidRepair(i64);

impl TryFrom<i64> for Repair {
    type Error = InvalidRepair;

    fn try_from(attempts: i64) -> Result<Self, InvalidRepair> {
        match attempts {
            0 => Ok(Self::Never),
            1 => Ok(Self::Once),
            other => Err(InvalidRepair(other)),
        }
    }
}

/// The models of one Puruto, and whether they may correct themselves.
#[derive(Debug)]
pub struct Repairing {
    routes: Routes,
    repair: Repair,
}

impl Repairing {
    /// Asks `routes`, and again as often as `repair` says.
    #[must_use]
    pub const fn new(routes: Routes, repair: Repair) -> Self {
        Self { routes, repair }
    }

    /// The model that is asked first.
    #[must_use]
    pub const fn model(&self) -> &ModelName {
        self.routes.model()
    }

    /// As [`Routes::call`]. The call that corrects an answer is one of its own, within the same
    /// deadline; `metadata.repaired` of the answer says that there was one, and its usage is that
    /// of both.
    ///
    /// # Errors
    /// As [`Routes::call`]: what is wrong with the last answer that there was.
    pub async fn call(&self, call: &ModelCall) -> Result<ModelAnswer, CallFailed> {
        let first = match self.routes.call(call).await {
            Err(failed) if self.repair == Repair::Once => failed,
            outcome => return outcome,
        };
        let Fault::Unfit(unfit) = &first.fault else {
            return Err(first);
        };
        observe::repairing(call, unfit.violations.len());
        match self.routes.call(&asked_again(call, unfit)).await {
            Ok(answer) => Ok(repaired(answer, unfit.answer.usage)),
            Err(second) => Err(ended(first, second)),
        }
    }
}

fn asked_again(call: &ModelCall, unfit: &Unfit) -> ModelCall {
    let mut again = call.clone();
    again.made = call.made.further(ROUTES_MAX);
    again
        .messages
        .push(Message::assistant(unfit.answer.content.as_str()));
    again
        .messages
        .push(Message::user(correction(&unfit.violations)));
    again
}

/// What the model is told of its answer.
fn correction(violations: &[Violation]) -> String {
    let mut text = "Your answer does not have the form that was asked for:\n".to_owned();
    for violation in violations {
        writeln!(text, "- {violation}").expect("a string takes any text");
    }
    text += "Answer again with the corrected JSON alone.";
    text
}

fn repaired(mut answer: ModelAnswer, first: Usage) -> ModelAnswer {
    let Usage {
        prompt_tokens,
        completion_tokens,
        total_tokens,
    } = answer.usage;
    answer.usage = Usage {
        prompt_tokens: prompt_tokens.saturating_add(first.prompt_tokens),
        completion_tokens: completion_tokens.saturating_add(first.completion_tokens),
        total_tokens: total_tokens.saturating_add(first.total_tokens),
    };
    answer.metadata.insert("repaired".to_owned(), true.into());
    answer
}

/// A second answer that is wrong too is what the caller hears of, and so is a deadline that
/// passed. Where there was none, there still is the first.
fn ended(first: CallFailed, second: CallFailed) -> CallFailed {
    let attempts = first.attempts.saturating_add(second.attempts);
    let answered = second.fault.violations().is_some();
    let told = if answered || second.fault == Fault::DeadlinePassed {
        second
    } else {
        first
    };
    CallFailed { attempts, ..told }
}

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
