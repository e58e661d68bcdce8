//! Why a caller gets no answer at all: what a result cannot say.

use crate::{
    broker::{BrokerFault, NoDeadLetter},
    contract::{CorrelationId, PROMPT_BYTES_MAX, PurutoName, RequestId},
    store::StoreFault,
};

/// Why a caller gets no answer at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientFault {
    /// The prompt is longer than the contract allows; nothing was published.
    #[error("the prompt has {bytes} bytes; at most {PROMPT_BYTES_MAX} are allowed, shorten it")]
    PromptTooLong {
        /// Of UTF-8.
        bytes: usize,
    },
    /// The broker did not do what was asked.
    #[error(transparent)]
    Broker(#[from] BrokerFault),
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreFault),
    /// What stands at a result's place is no result.
    #[error("what stands under {subject} is no result: {reason}")]
    Unreadable {
        /// Where.
        subject: String,
        /// Why.
        reason: String,
    },
    /// What lies among the dead letters is none.
    #[error(transparent)]
    NoDeadLetter(#[from] NoDeadLetter),
    /// No record names the target of a request.
    #[error(
        "no worker has seen request {request} yet, so its target is not known: \
         name the target to cancel it all the same"
    )]
    TargetUnknown {
        /// The request.
        request: RequestId,
    },
    /// No message of this request lies in the stream.
    #[error("no request {request} waits anywhere: it is done, or was never published")]
    NotQueued {
        /// The request.
        request: RequestId,
    },
    /// The id is that of a run for something else.
    #[error("run {request} was begun for another goal, {goal:?}: use a new id")]
    OtherGoal {
        /// The run.
        request: RequestId,
        /// What it is for.
        goal: String,
    },
    /// Nothing at all is known of a chain.
    #[error(
        "nothing is known of chain {chain}: no such request was ever claimed, or all is forgotten"
    )]
    ChainUnknown {
        /// The chain.
        chain: CorrelationId,
    },
    /// Several targets have a request of this id.
    #[error(
        "{request} is a request of {}: name the target that is meant",
        listed(targets)
    )]
    Ambiguous {
        /// The id.
        request: RequestId,
        /// Whose requests have it.
        targets: Vec<PurutoName>,
    },
}

fn listed(targets: &[PurutoName]) -> String {
    let names: Vec<_> = targets.iter().map(PurutoName::as_str).collect();
    names.join(" and of ")
}
