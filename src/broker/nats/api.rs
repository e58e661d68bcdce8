//! JetStream's management calls: JSON there, JSON back.

use std::time::Duration;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{super::BrokerFault, link::Link, unanswered::Unanswered};

/// How long a management call may take.
pub(super) const CALL_BOUND: Duration = Duration::from_secs(5);

/// JetStream's error codes that are told apart.
pub(super) mod code {
    pub(in super::super) const CONSUMER_NOT_FOUND: u64 = 10_014;
    pub(in super::super) const NO_MESSAGE_FOUND: u64 = 10_037;
    pub(in super::super) const NOT_ENABLED_FOR_ACCOUNT: u64 = 10_039;
    pub(in super::super) const STREAM_NOT_FOUND: u64 = 10_059;
    pub(in super::super) const WRONG_LAST_SEQUENCE: u64 = 10_071;
    pub(in super::super) const NOT_ENABLED: u64 = 10_076;
    pub(in super::super) const STORE_FAILED: u64 = 10_077;
    pub(in super::super) const WRONG_LAST_SEQUENCE_CONSTANT: u64 = 10_164;
}

/// An error as JetStream reports it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct ApiError {
    #[serde(default, rename = "err_code")]
    pub(super) code: u64,
    #[serde(default)]
    pub(super) description: String,
}

impl ApiError {
    pub(super) fn into_fault(self, operation: &'static str) -> BrokerFault {
        BrokerFault::Refused {
            operation,
            reason: self.description,
            code: Some(self.code),
        }
    }
}

/// Why a management call gave nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ApiFault {
    /// There was no answer.
    Unanswered(Unanswered),
    /// The answer was an error.
    Refused(ApiError),
    /// The answer was not understood.
    Nonsense,
}

impl ApiFault {
    pub(super) fn into_fault(self, operation: &'static str) -> BrokerFault {
        match self {
            Self::Unanswered(unanswered) => unanswered.into_fault(operation),
            Self::Refused(error) => error.into_fault(operation),
            Self::Nonsense => BrokerFault::Refused {
                operation,
                reason: "the answer is not understood".into(),
                code: None,
            },
        }
    }

    /// The error code, if the server gave one.
    pub(super) const fn code(&self) -> Option<u64> {
        match self {
            Self::Refused(error) => Some(error.code),
            Self::Unanswered(_) | Self::Nonsense => None,
        }
    }
}

/// Calls `$JS.API.<call>` with `body`; the answer's fields.
pub(super) async fn call(
    link: &Link,
    call: &str,
    body: &Value,
) -> Result<Map<String, Value>, ApiFault> {
    call_for(link, call, body).await
}

/// Calls `$JS.API.<call>` with `body`; the answer.
pub(super) async fn call_for<T: DeserializeOwned>(
    link: &Link,
    call: &str,
    body: &Value,
) -> Result<T, ApiFault> {
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let subject = format!("$JS.API.{call}");
    let answer = link.request(&subject, None, body.into(), CALL_BOUND).await;
    read(&answer.map_err(ApiFault::Unanswered)?.payload)
}

#[derive(Deserialize)]
struct Verdict {
    error: Option<ApiError>,
}

fn read<T: DeserializeOwned>(answer: &[u8]) -> Result<T, ApiFault> {
    let Verdict { error } = serde_json::from_slice(answer).map_err(|_| ApiFault::Nonsense)?;
    match error {
        None => serde_json::from_slice(answer).map_err(|_| ApiFault::Nonsense),
        Some(error) => Err(ApiFault::Refused(error)),
    }
}
