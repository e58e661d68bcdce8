//! What is a request, what is not, and that nothing in between exists.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn body() -> Value {
    json!({
        "request_id": "req-20260224-001",
        "correlation_id": "corr-20260224-001",
        "caller": "puruto-reservations",
        "target": "puruto-financial",
        "action": "pay_invoice",
        "prompt": "Paga la factura #123 por 50 EUR",
        "timeout_sec": 120,
        "hop": 0
    })
}

fn minted() -> MintedIds {
    MintedIds::of_message("PURUTO_INVOKE", 7, 1_000)
}

fn parse(value: &Value) -> Result<InvocationRequest, Rejected> {
    Draft::parse(value.to_string().as_bytes()).map(|draft| draft.complete(minted()))
}

/// The violations of a body with `field` set to `value`, or taken out for `None`.
#[track_caller]
fn violations(field: &str, value: Option<Value>) -> Vec<Violation> {
    let mut body = body();
    let object = body.as_object_mut().expect("an object");
    match value {
        Some(value) => object.insert(field.to_owned(), value),
        None => object.remove(field),
    };
    parse(&body).expect_err("a violation").violations
}

#[track_caller]
fn check(field: &str, value: Value, actual: &str) {
    let found = violations(field, Some(value));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].field, field);
    assert_eq!(found[0].actual, actual);
}

#[test]
fn the_documented_example_is_a_request_and_prints_as_it_was_read() {
    let request = parse(&body()).expect("valid");
    assert_eq!(request.timeout_sec, TimeoutSec::new(120));
    let printed: Value = serde_json::from_slice(&request.to_json()).expect("JSON");
    assert_eq!(printed, body());
}

#[test]
fn what_a_person_may_leave_out_is_filled_in_the_same_way_on_every_delivery() {
    let typed = json!({"target": "t", "action": "a", "prompt": ""});
    let request = parse(&typed).expect("valid");
    assert_eq!(request.request_id, minted().request_id);
    assert_eq!(request.correlation_id, minted().correlation_id);
    assert_eq!(request.caller.as_str(), "anonymous");
    assert_eq!((request.hop, request.timeout_sec), (Hop::default(), None));
    assert_ne!(MintedIds::of_message("PURUTO_INVOKE", 8, 1_000), minted());
}

#[test]
fn each_field_out_of_its_bounds_is_named() {
    check("request_id", json!(""), "0 characters");
    check("request_id", json!("x".repeat(201)), "201 characters");
    check("correlation_id", json!("a\nb"), "control character U+000A");
    check("correlation_id", json!(7), "the number 7");
    check("caller", json!("a.b"), "\"a.b\"");
    check("target", json!(""), "\"\"");
    check("target", json!(null), "null");
    check("action", json!(["x"]), "an array");
    check("prompt", json!({}), "an object");
    check(
        "prompt",
        json!("x".repeat(PROMPT_BYTES_MAX + 1)),
        "262145 bytes",
    );
    check("timeout_sec", json!(0), "0");
    check("timeout_sec", json!(86_401), "86401");
    check("timeout_sec", json!(-1), "-1");
    check("timeout_sec", json!(30.0), "30.0");
    check("timeout_sec", json!("30"), "a string");
    check("hop", json!(65), "65");
    check("hop", json!(256), "256");
    check("hop", json!(u64::MAX), "18446744073709551615");
    check("hop", json!(true), "true");
    for field in ["target", "action", "prompt"] {
        assert_eq!(violations(field, None)[0].actual, "nothing");
    }
}

#[test]
fn the_longest_of_everything_still_passes() {
    let mut longest = body();
    longest["request_id"] = json!("é".repeat(200));
    longest["prompt"] = json!("x".repeat(PROMPT_BYTES_MAX));
    longest["timeout_sec"] = json!(86_400);
    longest["hop"] = json!(64);
    assert!(parse(&longest).is_ok());
}

#[test]
fn every_violation_is_listed_at_once_and_readable_ids_are_kept() {
    let bytes =
        br#"{"request_id":"r","correlation_id":"","caller":1,"action":"-","hop":-1,"hop":2}"#;
    let rejected = Draft::parse(bytes).expect_err("violations");
    let fields: Vec<_> = rejected
        .violations
        .iter()
        .map(|it| it.field.as_str())
        .collect();
    assert_eq!(
        fields,
        [
            "hop",
            "correlation_id",
            "caller",
            "target",
            "action",
            "prompt",
            "hop"
        ]
    );
    assert_eq!(rejected.request_id, "r".parse().ok());
    assert_eq!(rejected.correlation_id, None);
}

#[test]
fn a_document_that_is_no_object_is_refused() {
    for bytes in [&b"[]"[..], b"", b"\xff", b"\"x\"", b"{\"a\":"] {
        let rejected = Draft::parse(bytes).expect_err("no request");
        assert_eq!(rejected.violations[0].field, "$");
    }
}

#[test]
fn unknown_fields_are_kept_and_count_towards_the_fingerprint() {
    let mut more = body();
    more["tenant"] = json!({"id": 7});
    let request = parse(&more).expect("valid");
    assert_eq!(request.extra["tenant"]["id"], 7);
    assert_ne!(
        request.fingerprint(),
        parse(&body()).expect("valid").fingerprint()
    );
}

#[test]
fn a_fingerprint_does_not_depend_on_the_ids() {
    let mut renamed = body();
    renamed["request_id"] = json!("other");
    renamed["correlation_id"] = json!("other");
    let one = parse(&body()).expect("valid").fingerprint();
    assert_eq!(parse(&renamed).expect("valid").fingerprint(), one);
    renamed["prompt"] = json!("other");
    assert_ne!(parse(&renamed).expect("valid").fingerprint(), one);
}

fn name() -> impl Strategy<Value = String> {
    "[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
}

prop_compose! {
    fn valid()(
        request_id in "[^\\p{Cc}]{1,200}",
        correlation_id in "[^\\p{Cc}]{1,200}",
        caller in name(),
        target in name(),
        action in name(),
        prompt in any::<String>(),
        timeout in proptest::option::of(1_u64..=86_400),
        hop in 0_u64..=64,
        extra in proptest::collection::btree_map("x_[a-z]{1,8}", any::<i64>(), 0..4),
    ) -> Value {
        let mut body = json!({
            "request_id": request_id, "correlation_id": correlation_id, "caller": caller,
            "target": target, "action": action, "prompt": prompt, "hop": hop,
        });
        if let Some(timeout) = timeout {
            body["timeout_sec"] = json!(timeout);
        }
        for (key, value) in extra {
            body[key] = json!(value);
        }
        body
    }
}

proptest! {
    #[test]
    fn any_bytes_give_a_request_or_violations(bytes in any::<Vec<u8>>()) {
        if let Err(rejected) = Draft::parse(&bytes) {
            prop_assert!(!rejected.violations.is_empty());
        }
    }

    #[test]
    fn any_json_gives_a_request_or_violations(
        field in "request_id|caller|target|action|prompt|timeout_sec|hop|other",
        raw in r#"null|true|-?[0-9]{1,30}|-?[0-9]\.[0-9]e[0-9]{1,4}|"[^"\\]{0,9}"|\[\]|\{\}"#,
    ) {
        let text = format!(r#"{{"target":"t","action":"a","prompt":"p","{field}":{raw}}}"#);
        if let Err(rejected) = Draft::parse(text.as_bytes()) {
            prop_assert!(!rejected.violations.is_empty());
        }
    }

    #[test]
    fn what_is_printed_reads_back(body in valid()) {
        let request = parse(&body).expect("valid");
        let again = Draft::parse(&request.to_json()).expect("valid").complete(minted());
        prop_assert_eq!(&again, &request);
        prop_assert_eq!(again.fingerprint(), request.fingerprint());
    }
}
