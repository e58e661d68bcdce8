//! Reads how long a server asks to be left alone.
//!
//! Forms: `retry-after-ms` in milliseconds, `Retry-After` in seconds, with decimals too, or as any
//! of the three HTTP dates. Whatever is none of these is ignored, as if it had not been sent.

use std::time::{Duration, UNIX_EPOCH};

use crate::clock::WallTime;

/// The wish that these header values express; the longest when there are several.
///
/// `seconds_or_date` are the values of `Retry-After`, `millis` those of `retry-after-ms`. A date
/// in the past asks for nothing (zero). A number beyond representable time is [`Duration::MAX`].
#[must_use]
pub fn read<'v>(
    seconds_or_date: impl IntoIterator<Item = &'v str>,
    millis: impl IntoIterator<Item = &'v str>,
    now: WallTime,
) -> Option<Duration> {
    let in_millis = millis
        .into_iter()
        .filter_map(|raw| number(raw, 0.001))
        .max();
    let otherwise = || {
        let wish = |raw| number(raw, 1.0).or_else(|| date(raw, now));
        seconds_or_date.into_iter().filter_map(wish).max()
    };
    in_millis.or_else(otherwise)
}

/// Digits with at most one point: `f64` alone would also read `inf`, `1e9` and `-1`.
fn number(raw: &str, unit_secs: f64) -> Option<Duration> {
    let raw = raw.trim();
    let plain = raw.starts_with(|c: char| c.is_ascii_digit())
        && raw.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let secs = plain.then(|| raw.parse::<f64>().ok())?? * unit_secs;
    Some(Duration::try_from_secs_f64(secs).unwrap_or(Duration::MAX))
}

fn date(raw: &str, now: WallTime) -> Option<Duration> {
    let at = httpdate::parse_http_date(raw.trim()).ok()?;
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let at = WallTime::from_unix_millis(u64::try_from(since.as_millis()).ok()?);
    Some(at.since(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT, the date of the HTTP standard's examples.
    const NOW: WallTime = WallTime::from_unix_millis(784_111_777_000);

    fn after(raw: &str) -> Option<Duration> {
        read([raw], [], NOW)
    }

    #[test]
    fn seconds_may_have_decimals_and_no_end() {
        assert_eq!(after("2"), Some(Duration::from_secs(2)));
        assert_eq!(after(" 0.25 "), Some(Duration::from_millis(250)));
        assert_eq!(after("0"), Some(Duration::ZERO));
        assert_eq!(after("100000000000000000000"), Some(Duration::MAX));
    }

    #[test]
    fn all_three_http_dates_are_read_and_the_past_asks_for_nothing() {
        for ten_later in [
            "Sun, 06 Nov 1994 08:49:47 GMT",
            "Sunday, 06-Nov-94 08:49:47 GMT",
            "Sun Nov  6 08:49:47 1994",
        ] {
            assert_eq!(
                after(ten_later),
                Some(Duration::from_secs(10)),
                "{ten_later}"
            );
        }
        assert_eq!(after("Sat, 05 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
    }

    #[test]
    fn milliseconds_are_more_exact_and_of_two_wishes_the_longer_counts() {
        let both = read(["1"], ["250"], NOW);
        assert_eq!(both, Some(Duration::from_millis(250)));
        assert_eq!(
            read(["1", "3", "soon"], ["x"], NOW),
            Some(Duration::from_secs(3))
        );
        assert_eq!(read([], ["1.5"], NOW), Some(Duration::from_micros(1_500)));
    }

    #[test]
    fn garbage_is_ignored() {
        for garbage in [
            "", "-1", "soon", "inf", "NaN", "1e3", "1.2.3", ".", "٣", "6m0s",
        ] {
            assert_eq!(after(garbage), None, "{garbage:?}");
        }
        assert_eq!(read([], [], NOW), None);
    }
}
