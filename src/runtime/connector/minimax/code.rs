//! MiniMax's own error codes: where they stand, and what they mean.
//!
//! They are no HTTP statuses and are never compared with one: 1008 is no server's failure,
//! whatever the status it comes with.

use serde_json::{Map, Value};

use crate::runtime::{
    Fault,
    fault::{ProviderCode, Refusal},
};

/// A code other than 0, which means success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code(u64);

impl Code {
    /// The answer was cut for what it said.
    pub(super) const OUTPUT_SENSITIVE: Self = Self(1027);

    /// The code in `base_resp`.
    pub(super) fn in_base_resp(response: &Map<String, Value>) -> Option<Self> {
        let code = response.get("base_resp")?.get("status_code")?;
        let code = code.as_u64().or_else(|| code.as_str()?.parse().ok())?;
        (code != 0).then_some(Self(code))
    }

    /// The code in parentheses at the end of an error's message: `insufficient balance (1008)`.
    pub(super) fn in_message(response: &Map<String, Value>) -> Option<Self> {
        let error = response.get("error")?;
        let message = error.as_str().or_else(|| error.get("message")?.as_str())?;
        let message = message.trim_end().trim_end_matches('.');
        let (_, code) = message.strip_suffix(')')?.rsplit_once('(')?;
        let digits = code.bytes().all(|b| b.is_ascii_digit());
        let code = digits.then(|| code.parse().ok())??;
        (code != 0).then_some(Self(code))
    }

    /// What a refusal with this code means; `None` for a code that is not known.
    pub(super) fn fault(self, mut refusal: Refusal) -> Option<Fault> {
        refusal.code = self.as_provider_code();
        Some(match self.0 {
            // Unknown, time-out, internal, downstream.
            1000 | 1001 | 1013 | 1024 | 1033 => Fault::Server(refusal),
            // Calls, connections and growth of both a minute; a cluster under high load.
            1002 | 1041 | 2045 | 2064 => Fault::RateLimited(refusal),
            // Tokens a minute, or an answer that would be too long: the code does not say which.
            1039 => Fault::TokenLimited(refusal),
            // No key, or a wrong one.
            1004 | 2049 => Fault::Auth(refusal),
            // No balance; everything used that five hours allow.
            1008 | 2056 => Fault::QuotaExhausted(refusal),
            // Sensitive question or answer, invisible characters, wrong parameters.
            1026 | 1027 | 1042 | 2013 => Fault::Rejected(refusal),
            _ => return None,
        })
    }

    pub(super) fn as_provider_code(self) -> Option<ProviderCode> {
        ProviderCode::read(&self.0.to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::runtime::{
        breaker::Ended,
        fault::{Again, HttpStatus},
    };

    fn fault(code: u64, status: u16) -> Option<Fault> {
        Code(code).fault(Refusal {
            status: HttpStatus(status),
            code: None,
            retry_after: None,
        })
    }

    #[test]
    fn each_code_has_its_meaning_whatever_the_status() {
        for (codes, error_type, again) in [
            (
                &[1000, 1001, 1013, 1024, 1033][..],
                "server_error",
                Again::Backoff,
            ),
            (
                &[1002, 1041, 2045, 2064],
                "rate_limited",
                Again::LongBackoff,
            ),
            (&[1039], "token_limited", Again::LongBackoffOnce),
            (&[1004, 2049], "auth", Again::Never),
            (&[1008, 2056], "quota_exhausted", Again::Never),
            (&[1026, 1027, 1042, 2013], "rejected", Again::Never),
        ] {
            for (code, status) in codes
                .iter()
                .flat_map(|it| [(*it, 200), (*it, 429), (*it, 500)])
            {
                let fault = fault(code, status).expect("known");
                assert_eq!(fault.error_type(), error_type, "{code} {status}");
                assert_eq!(fault.again(), again, "{code} {status}");
                let failed = fault.health() == Ended::Failure;
                assert_eq!(failed, error_type == "server_error", "{code} {status}");
                assert!(fault.to_string().contains(&format!("({code})")), "{fault}");
            }
        }
        assert_eq!(fault(9999, 500), None);
    }

    #[test]
    fn a_code_stands_in_base_resp_or_at_the_end_of_a_message() {
        let object = |value: &Value| value.as_object().expect("an object").clone();
        let in_base_resp = |code: Value| {
            let response = json!({"base_resp": {"status_code": code}});
            Code::in_base_resp(&object(&response))
        };
        assert_eq!(in_base_resp(json!(1004)), Some(Code(1004)));
        assert_eq!(in_base_resp(json!("1004")), Some(Code(1004)));
        for none in [json!(0), json!(null), json!("ok"), json!(-1), json!([1004])] {
            assert_eq!(in_base_resp(none.clone()), None, "{none}");
        }
        let in_message = |error: Value| Code::in_message(&object(&json!({ "error": error })));
        let by_object = json!({"message": "insufficient balance (1008)", "type": "api_error"});
        assert_eq!(in_message(by_object), Some(Code(1008)));
        for (said, code) in [
            ("insufficient balance (1008). ", Some(Code(1008))),
            ("insufficient balance 1008", None),
            ("(1008) is what your prompt said", None),
            ("balance ()", None),
            ("balance (0)", None),
            ("balance (10O8)", None),
            ("(99999999999999999999999)", None),
            ("", None),
        ] {
            assert_eq!(in_message(json!(said)), code, "{said:?}");
        }
    }
}
