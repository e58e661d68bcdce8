//! `Prefer: wait` (RFC 7240): whether a caller waits for the answer, and how long.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};

const PREFER: &str = "prefer";

/// What goes back beside an answer that was waited for.
pub(super) const APPLIED: &str = "preference-applied";

/// How long the caller is ready to wait, at most `most`; a bare `wait` is as long as that. What is
/// no number of seconds says nothing, as the standard asks.
pub(super) fn wait(headers: &HeaderMap, most: Duration) -> Option<Duration> {
    let values = headers.get_all(PREFER).iter();
    let mut preferences = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|preference| preference.split(';').next());
    preferences.find_map(|preference| {
        let (name, seconds) = match preference.split_once('=') {
            Some((name, seconds)) => (name, Some(seconds)),
            None => (preference, None),
        };
        if !name.trim().eq_ignore_ascii_case("wait") {
            return None;
        }
        match seconds.map(|it| it.trim().trim_matches('"').parse()) {
            None => Some(most),
            Some(Ok(seconds)) => Some(Duration::from_secs(seconds).min(most)),
            Some(Err(_)) => None,
        }
    })
}

/// The preference that was applied.
pub(super) fn applied(waited: Duration) -> HeaderValue {
    HeaderValue::try_from(format!("wait={}", waited.as_secs())).expect("a word and digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_found_among_other_preferences_and_has_a_bound() {
        let most = Duration::from_secs(60);
        for (value, expected) in [
            ("wait=10", Some(10)),
            ("respond-async, wait=10", Some(10)),
            ("Wait = \"7\"; foo=bar", Some(7)),
            ("wait", Some(60)),
            ("wait=9999", Some(60)),
            ("wait=0", Some(0)),
            ("wait=soon", None),
            ("wait=-1", None),
            ("handling=strict", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(PREFER, HeaderValue::from_static(value));
            let waits = wait(&headers, most).map(|it| it.as_secs());
            assert_eq!(waits, expected, "{value}");
        }
    }
}
