//! Nobody sees anything who does not know the token, and no other page acts for who does.

use std::net::Ipv4Addr;

use serde_json::json;

use crate::{
    console::{Console, TOKEN},
    fleet::Fleet,
    http::{get, post, send, send_from, session},
    support::Servers,
};

async fn console() -> (Fleet, Console) {
    let fleet = Fleet::of_these(&[], Servers::start().await);
    let console = Console::of(&fleet).await;
    (fleet, console)
}

const PATHS: [&str; 8] = [
    "/targets",
    "/workers",
    "/servers",
    "/live",
    "/requests",
    "/requests/clerk/r-1",
    "/requests/clerk/r-1/content",
    "/letters",
];

#[tokio::test]
async fn without_a_session_nothing_is_shown() {
    let (_fleet, console) = console().await;
    let forged = "puruto_dashboard=99999999999999.AAAA";
    for path in PATHS {
        for cookie in ["", "puruto_dashboard=", forged] {
            let answer = get(&console, cookie, path).await;
            assert_eq!(
                (answer.status, answer.code()),
                (401, "AUTH_REQUIRED".into()),
                "{path}"
            );
        }
        // The token itself is no session, wherever it stands.
        let asked = format!("GET /dashboard/api{path}?token={}", TOKEN.replace(' ', "+"));
        let bearer = format!("Bearer {TOKEN}");
        let answer = send(&console, &asked, &[("Authorization", &bearer)], "").await;
        assert_eq!(answer.status, 401, "{path}");
    }
    let page = send(&console, "GET /", &[], "").await;
    assert!(page.body.contains("Log in"), "{page:?}");
}

#[tokio::test]
async fn the_token_is_exchanged_for_a_strict_cookie_at_once() {
    let (_fleet, console) = console().await;
    let line = format!("GET /?token={}", TOKEN.replace(' ', "+"));
    let answer = send(&console, &line, &[], "").await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
    let cookie = answer.header("set-cookie").unwrap();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    assert!(!cookie.contains(TOKEN), "{cookie}");
    let (pair, _) = cookie.split_once(';').unwrap();
    let page = send(&console, "GET /", &[("Cookie", pair)], "").await;
    assert!(page.body.contains("app.js"), "{page:?}");
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self'"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
}

#[tokio::test]
async fn a_wrong_token_is_refused_and_guessing_is_slowed() {
    let (_fleet, console) = console().await;
    let mut refused = 0;
    loop {
        let answer = send(&console, "GET /?token=guess", &[], "").await;
        assert!(answer.header("set-cookie").is_none());
        refused += 1;
        if answer.status == 429 {
            assert!(answer.header("retry-after").is_some());
            break;
        }
        assert_eq!(answer.status, 401);
        assert!(refused < 100, "guessing is not slowed");
    }
    // The right token is not looked at either from there, and it is from elsewhere.
    let right = format!("GET /?token={}", TOKEN.replace(' ', "+"));
    assert_eq!(send(&console, &right, &[], "").await.status, 429);
    if cfg!(target_os = "linux") {
        let elsewhere = Ipv4Addr::new(127, 0, 0, 2);
        let answer = send_from(elsewhere, &console, &right, &[], "").await;
        assert_eq!(answer.status, 303, "{answer:?}");
    }
}

#[tokio::test]
async fn no_other_page_acts_for_who_is_logged_in() {
    let (_fleet, console) = console().await;
    let session = session(&console).await;
    let act = "POST /dashboard/api/workers/w-1/drain";
    let ours = ("X-Puruto-Dashboard", "1");
    let cookie = ("Cookie", session.as_str());
    for foreign in [
        vec![cookie],
        vec![cookie, ours, ("Sec-Fetch-Site", "cross-site")],
        vec![cookie, ours, ("Sec-Fetch-Site", "same-site")],
        vec![cookie, ours, ("Origin", "http://evil.example")],
        vec![cookie, ours, ("Origin", "null")],
    ] {
        let answer = send(&console, act, &foreign, "{}").await;
        let refused = (403, "PERMISSION_DENIED".to_owned());
        assert_eq!((answer.status, answer.code()), refused, "{foreign:?}");
    }
    let answer = post(&console, &session, "/workers/w-1/drain", &json!({})).await;
    assert_eq!((answer.status, answer.code()), (404, "NOT_FOUND".into()));
}

#[tokio::test]
async fn what_is_not_understood_is_refused_in_words() {
    let (_fleet, console) = console().await;
    let session = session(&console).await;
    for (path, status) in [
        ("/requests?state=odd", 422),
        ("/requests?colour=red", 422),
        ("/requests?cursor=elsewhere.7", 409),
        ("/requests?limit=many", 422),
        ("/requests/clerk/%00", 404),
        ("/requests/no%20name/r", 404),
        ("/letters?reason=odd", 422),
        ("/nowhere", 404),
    ] {
        let answer = get(&console, &session, path).await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert!(!answer.code().is_empty());
    }
    let huge = json!({ "by": "x".repeat(100_000) });
    let answer = post(&console, &session, "/requests/clerk/r/verdict", &huge).await;
    assert_eq!(answer.status, 422, "{answer:?}");
}
