//! How a call ended that has no answer.
//!
//! Never: another decision; the retry policy has had its say.

use std::fmt;

use serde_json::{Value, json};

use super::{Fault, ModelName, retry::Stop};
use crate::contract::{ErrorCode, ResultError, Violation};

/// The last fault of a call, and why no attempt followed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFailed {
    /// What the last attempt ended in.
    pub fault: Fault,
    /// How many attempts there were.
    pub attempts: u8,
    /// Why no other followed.
    pub why: Stop,
    /// What each route ended in that was asked, in their order; empty where there is only one.
    pub routes: Vec<RouteEnded>,
}

/// What a call to one of several routes ended in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteEnded {
    /// Who was asked.
    pub provider: &'static str,
    /// For which model.
    pub model: ModelName,
    /// The fault in one word.
    pub error_type: &'static str,
    /// How many attempts there were.
    pub attempts: u8,
    /// The fault in one sentence, and why no attempt followed.
    pub said: String,
}

impl fmt::Display for CallFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            fault,
            attempts,
            why,
            routes,
        } = self;
        if !routes.is_empty() {
            return f.write_str(&listed(routes));
        }
        match (why, attempts) {
            (Stop::Final, _) => fault.fmt(f),
            (_, 1) => write!(f, "{fault}; gave up after one attempt: {why}"),
            (_, _) => write!(f, "{fault}; gave up after {attempts} attempts: {why}"),
        }
    }
}

impl std::error::Error for CallFailed {}

impl CallFailed {
    /// The failure as the caller of the Puruto sees it.
    #[must_use]
    pub fn to_result_error(&self) -> ResultError {
        let error = match (&self.fault, self.fault.code()) {
            (Fault::Contract(violations), _) => ResultError::contract_violation(violations),
            (Fault::Unfit(unfit), _) => ResultError::contract_violation(&unfit.violations),
            (Fault::BodyTooLarge { cap }, _) => {
                let expected = format!("at most {cap} bytes");
                ResultError::contract_violation(&[Violation::new("$", expected, "more")])
            }
            (_, ErrorCode::IpcError) => ResultError::ipc(self.fault.kind(), self.to_string()),
            (_, code) => ResultError::new(code, self.to_string()),
        };
        let error = error.with("attempts", self.attempts);
        match self.routes.as_slice() {
            [] => error,
            routes => error.with("routes", detailed(routes)),
        }
    }
}

fn listed(routes: &[RouteEnded]) -> String {
    let ends = routes.iter().map(|route| {
        let RouteEnded {
            provider,
            model,
            said,
            ..
        } = route;
        format!("{provider}/{model}: {said}")
    });
    let ends: Vec<_> = ends.collect();
    format!("no route has an answer: {}", ends.join("; "))
}

fn detailed(routes: &[RouteEnded]) -> Value {
    let ends = routes.iter().map(|route| {
        json!({
            "provider": route.provider,
            "model": route.model,
            "error": route.error_type,
            "attempts": route.attempts,
        })
    });
    ends.collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::runtime::fault::{HttpStatus, Refusal};

    fn failed(fault: Fault, attempts: u8, why: Stop) -> CallFailed {
        CallFailed {
            fault,
            attempts,
            why,
            routes: Vec::new(),
        }
    }

    #[test]
    fn the_caller_hears_what_failed_how_often_and_why_it_ended() {
        let refusal = Refusal {
            status: HttpStatus(429),
            code: None,
            retry_after: Some(Duration::from_secs(60)),
        };
        let why = Stop::DeadlineTooClose {
            delay: Duration::from_secs(61),
            time_left: Duration::from_secs(12),
        };
        let error = failed(Fault::RateLimited(refusal), 1, why).to_result_error();
        assert_eq!(error.kind(), Some("rate_limited"));
        assert_eq!(
            error.message,
            "the model server limits the rate of calls: HTTP 429; gave up after one attempt: \
             the next attempt would start in 61.0 s and the deadline is in 12.0 s"
        );
    }

    #[test]
    fn each_code_of_the_result_has_its_fault() {
        let late = failed(Fault::DeadlinePassed, 1, Stop::Final).to_result_error();
        assert_eq!((late.code, late.kind()), (ErrorCode::Timeout, None));
        let broken = vec![Violation::new("model", "a string", "a number")];
        let broken = failed(Fault::Contract(broken), 1, Stop::Final).to_result_error();
        assert_eq!(broken.code, ErrorCode::InvalidResponse);
        let huge = failed(Fault::BodyTooLarge { cap: 9 }, 1, Stop::Final).to_result_error();
        assert_eq!(huge.code, ErrorCode::InvalidResponse);
        let details = huge.details.expect("violations");
        assert_eq!(details["violations"][0]["expected"], "at most 9 bytes");
        let incomplete = Fault::Incomplete { reason: "abort" };
        let spent = failed(incomplete, 4, Stop::AttemptsSpent).to_result_error();
        assert_eq!(spent.kind(), Some("model_unavailable"));
        assert!(
            spent
                .message
                .ends_with("gave up after 4 attempts: no attempt is left")
        );
    }
}
