//! How long a server keeps a connection that nobody uses, by its `Keep-Alive` header.
//!
//! Pure. A connection is given up a margin before the server would: a request that crosses the
//! server's farewell is lost, and a `POST` that may have been read should not be sent twice.

use std::time::Duration;

use hyper::{HeaderMap, header::HeaderName};

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
/// The least by which we are earlier than the server.
const MARGIN_MIN: Duration = Duration::from_secs(1);
/// By which share of its time we are earlier, if that is more.
const MARGIN_SHARE: u32 = 10;

/// How often a connection was used, and how often its server lets it be used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uses {
    done: u64,
    limit: u64,
}

impl Default for Uses {
    fn default() -> Self {
        Self {
            done: 0,
            limit: u64::MAX,
        }
    }
}

impl Uses {
    /// Notes one answer with its `headers`. How long the connection may now be kept, at most
    /// `longest`; `None`: not at all.
    pub(super) fn answered(&mut self, headers: &HeaderMap, longest: Duration) -> Option<Duration> {
        self.done = self.done.saturating_add(1);
        let said = Said::in_headers(headers);
        if let Some(max) = said.max {
            // Some servers count down and some name the total each time; the lower of both holds.
            let last = self.done.saturating_add(max).saturating_sub(1);
            self.limit = self.limit.min(last);
        }
        if self.done >= self.limit {
            return None;
        }
        let kept = said.timeout.map_or(longest, |timeout| {
            let margin = MARGIN_MIN.max(timeout / MARGIN_SHARE);
            timeout.saturating_sub(margin).min(longest)
        });
        (!kept.is_zero()).then_some(kept)
    }
}

/// What the header says.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    timeout: Option<Duration>,
    max: Option<u64>,
}

impl Said {
    /// What cannot be read is left out: the header is a courtesy.
    fn in_headers(headers: &HeaderMap) -> Self {
        let mut said = Self::default();
        let values = headers.get_all(KEEP_ALIVE).into_iter();
        let texts = values.filter_map(|value| value.to_str().ok());
        for parameter in texts.flat_map(|text| text.split(',')) {
            let Some((name, value)) = parameter.split_once('=') else {
                continue;
            };
            let Ok(value) = value.trim().trim_matches('"').parse() else {
                continue;
            };
            match name.trim() {
                name if name.eq_ignore_ascii_case("timeout") => {
                    said.timeout = Some(Duration::from_secs(value));
                }
                name if name.eq_ignore_ascii_case("max") => said.max = Some(value),
                // Parameters that nobody has defined.
                _ => {}
            }
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn kept(uses: &mut Uses, header: &str) -> Option<u64> {
        let header = header.parse().expect("a header");
        let headers = HeaderMap::from_iter([(KEEP_ALIVE, header)]);
        uses.answered(&headers, MINUTE).map(|kept| kept.as_secs())
    }

    #[test]
    fn a_connection_is_given_up_a_margin_before_its_server_does() {
        for (header, expected) in [
            ("timeout=5", Some(4)),
            ("timeout=5, max=100", Some(4)),
            ("Timeout = 30 , MAX = 9", Some(27)),
            ("timeout=\"20\"", Some(18)),
            ("timeout=600", Some(60)),
            ("timeout=1", None),
            ("timeout=0", None),
            ("timeout=soon", Some(60)),
            ("timeout=-5", Some(60)),
            ("", Some(60)),
            ("timeout=99999999999999999999", Some(60)),
            ("timeout=18446744073709551615", Some(60)),
        ] {
            assert_eq!(kept(&mut Uses::default(), header), expected, "{header}");
        }
        let silent = Uses::default().answered(&HeaderMap::new(), MINUTE);
        assert_eq!(silent, Some(MINUTE));
    }

    #[test]
    fn a_connection_that_is_used_up_is_not_kept() {
        let mut countdown = Uses::default();
        for left in (1..=9).rev() {
            let said = kept(&mut countdown, &format!("max={left}"));
            assert_eq!(said.is_some(), left > 1, "{left} left");
        }
        let mut total = Uses::default();
        for nth in 1..=3 {
            let said = kept(&mut total, "max=3");
            assert_eq!(said.is_some(), nth < 3, "the {nth}. of 3");
        }
        assert_eq!(kept(&mut Uses::default(), "max=0"), None);
    }
}
