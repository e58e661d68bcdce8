//! What a server asks for in headers: to be left alone for a while, and to be asked elsewhere.

use std::time::{Duration, UNIX_EPOCH};

use puruto_fleet::{
    clock::{Clock, WallTime},
    runtime::{CallFailed, ModelAnswer, retry::Stop},
};

use crate::{
    asking::{KEY, ask, ask_within, good, table},
    fault_server::{Deed, FaultServer},
};
use tokio::time::Instant;

/// Nearer than what a patient server asks for, and farther than our own first delay.
const DEADLINE: Duration = Duration::from_secs(20);
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// How a call goes whose first attempt is turned away with these headers.
async fn turned_away_once(headers: &str) -> (Result<ModelAnswer, CallFailed>, usize) {
    let turned_away = Deed::respond(429, headers, "{}");
    let server = FaultServer::start([turned_away], Deed::json(&good())).await;
    let asked = ask_within(&table("openai", &server.base_url(), ""), DEADLINE).await;
    (asked, server.requests())
}

fn http_date(at: WallTime) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_millis(at.unix_millis()))
}

#[tokio::test]
async fn a_wish_in_any_form_that_does_not_fit_ends_the_call_at_once() {
    let tomorrow = http_date(Clock::system().now().saturating_add(DAY));
    for headers in [
        "Retry-After: 3600\r\n",
        "retry-after:   3600.5  \r\n",
        "Retry-After-Ms: 3600000\r\n",
        "Retry-After: 100000000000000000000\r\n",
        "Retry-After: 1\r\nRetry-After: 3600\r\n",
        "Retry-After: 3600\r\nRetry-After: 1\r\n",
        "Retry-After: soon\r\nRetry-After: 3600\r\n",
        &format!("Retry-After: {tomorrow}\r\n"),
    ] {
        let (asked, requests) = turned_away_once(headers).await;
        let failed = asked.expect_err("no time for that");
        let late = matches!(failed.why, Stop::DeadlineTooClose { .. });
        assert!(late && requests == 1, "{headers}: {failed}");
    }
}

#[tokio::test]
async fn a_wish_that_says_nothing_is_as_if_it_had_not_been_sent() {
    let yesterday = http_date(Clock::system().now().saturating_sub(DAY));
    for headers in [
        "Retry-After: -3600\r\n",
        "Retry-After: soon\r\n",
        "Retry-After: \r\n",
        "Retry-After: 1e9\r\n",
        "Retry-After: NaN\r\n",
        "Retry-After: 0\r\n",
        "Retry-After: \u{e9}\r\n",
        &format!("Retry-After: {yesterday}\r\n"),
    ] {
        let (asked, requests) = turned_away_once(headers).await;
        let answer = asked.unwrap_or_else(|failed| panic!("{headers}: {failed}"));
        assert_eq!((answer.content.as_str(), requests), ("hi", 2), "{headers}");
    }
}

#[tokio::test]
async fn a_wish_that_fits_is_waited_out() {
    for headers in [
        "Retry-After: 0.4\r\n",
        "Retry-After: 60\r\nRetry-After-Ms: 400\r\n",
    ] {
        let before = Instant::now();
        let (asked, requests) = turned_away_once(headers).await;
        assert_eq!(asked.expect("an answer").content, "hi");
        assert_eq!(requests, 2, "{headers}");
        let took = before.elapsed();
        assert!(took >= Duration::from_millis(400), "{headers}: {took:?}");
    }
}

#[tokio::test]
async fn no_redirect_is_followed_with_the_key() {
    let elsewhere = FaultServer::start([], Deed::json(&good())).await;
    for status in [301, 302, 303, 307, 308] {
        let location = format!("Location: {}/v1\r\n", elsewhere.base_url());
        let server = FaultServer::start([], Deed::respond(status, &location, "")).await;
        for provider in ["openai", "minimax", "ollama"] {
            let failed = ask(&table(provider, &server.base_url(), "")).await;
            let failed = failed.expect_err("not followed");
            assert_eq!(failed.fault.http_status().map(|it| it.0), Some(status));
            assert_eq!(failed.attempts, 1);
        }
        assert!(server.told().iter().all(|request| request.contains(KEY)));
    }
    assert_eq!(elsewhere.connections(), 0);
}
