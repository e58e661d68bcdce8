//! A descriptor is a skill, or every mistake in it is told with its place.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::policy::FindingCode;

/// The descriptor of the invocation protocol's own example.
fn example() -> Value {
    json!({
        "protocol": "skill-sharing/1.0",
        "id": "com.example.translate-v1",
        "name": "Translate",
        "version": "1.0.0",
        "capability_type": "translation",
        "description": "Says a text in another language.",
        "provider": {"name": "Example", "url": "https://example.com"},
        "inputs": {
            "type": "object",
            "properties": {
                "text": {"type": "string", "minLength": 1},
                "target_language": {"type": "string"},
            },
            "required": ["text", "target_language"],
            "additionalProperties": false,
        },
        "output": {
            "type": "object",
            "properties": {
                "translated_text": {"type": "string"},
                "confidence": {"type": "number"},
            },
            "required": ["translated_text"],
        },
        "auth": {"type": "none"},
        "puruto": {
            "target": "puruto-translate",
            "action": "translate",
            "prompt": "Into {{ inputs.target_language }}: {{ inputs.text }}",
        },
    })
}

fn read(descriptor: &Value) -> Result<Skill, Vec<Finding>> {
    super::read(Path::new("a.json"), descriptor.to_string().as_bytes())
}

/// The example with `value` at `pointer`, whose parent is there.
fn with(pointer: &str, value: Value) -> Value {
    let mut descriptor = example();
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    descriptor.pointer_mut(parent).expect("a parent")[key] = value;
    descriptor
}

/// Each mistake as `place: message`.
fn told(descriptor: &Value) -> Vec<String> {
    let findings = read(descriptor).expect_err("a mistake");
    let told = findings.iter().map(|it| {
        let place = it.path.trim_start_matches("a.json").trim_start_matches('#');
        format!("{place}: {}", it.message)
    });
    told.collect()
}

#[test]
fn a_descriptor_is_a_skill_with_defaults_for_what_it_leaves_out() {
    let skill = read(&example()).expect("a skill");
    assert_eq!(skill.id().as_str(), "com.example.translate-v1");
    assert_eq!(skill.target().as_str(), "puruto-translate");
    assert_eq!(skill.action().as_str(), "translate");
    assert_eq!(skill.auth(), &AuthScheme::None);
    assert_eq!((skill.timeout(), skill.lane()), (None, Lane::Normal));
    let default = Retry {
        suggested_delay: Duration::from_millis(5_000),
        max_attempts: 3,
    };
    assert_eq!(skill.retry(), default);
    let inputs = json!({"text": "Hello, world!", "target_language": "zh-CN"});
    assert_eq!(skill.check_inputs(&inputs), Ok(()));
    let prompt = skill.prompt(&inputs).expect("a prompt");
    assert_eq!(prompt, "Into zh-CN: Hello, world!");
}

#[test]
fn what_it_says_of_serving_is_what_holds() {
    let mut descriptor = with("/puruto/timeout_sec", json!(30));
    descriptor["puruto"]["priority"] = json!("high");
    descriptor["puruto"]["retry"] = json!({"suggested_delay_ms": 250, "max_attempts": 0});
    descriptor["auth"] = json!({"type": "oauth2", "scope": "pay"});
    let skill = read(&descriptor).expect("a skill");
    assert_eq!(
        (skill.timeout(), skill.lane()),
        (TimeoutSec::new(30), Lane::High)
    );
    let told = Retry {
        suggested_delay: Duration::from_millis(250),
        max_attempts: 0,
    };
    assert_eq!(skill.retry(), told);
    assert!(matches!(skill.auth(), AuthScheme::Oauth2 { .. }));
}

#[test]
fn inputs_that_the_skill_does_not_take_are_told_in_every_way() {
    let skill = read(&example()).expect("a skill");
    let wrong = json!({"text": "", "more": 1});
    let violations = skill.check_inputs(&wrong).expect_err("three mistakes");
    let fields: Vec<_> = violations.iter().map(|it| it.field.as_str()).collect();
    assert_eq!(fields.len(), 3, "{fields:?}");
    for field in ["inputs.text", "inputs.more", "inputs.target_language"] {
        assert!(fields.contains(&field), "{fields:?}");
    }
    let violations = skill.check_inputs(&json!([])).expect_err("no object");
    assert_eq!(
        violations[0].to_string(),
        "inputs: expected object, got an array of 0 items"
    );
}

/// Each value alone, put where the pointer says, is told as its text begins.
fn each_is_told<const N: usize>(mistakes: [(&str, Value, &str); N]) {
    for (pointer, value, says) in mistakes {
        let told = told(&with(pointer, value));
        let [only] = told.as_slice() else {
            panic!("{pointer}: {told:?}");
        };
        assert!(only.starts_with(says), "{only}");
    }
}

#[test]
fn a_mistake_in_what_callers_read_has_its_place_and_says_what_is_allowed() {
    each_is_told([
        ("/id", json!("translate"), "/id: expected names of"),
        ("/id", json!(7), "/id: expected a text, got 7"),
        ("/name", json!(""), "/name: expected 1 to 200 characters"),
        ("/version", json!("1\r\n"), "/version: holds a line break"),
        ("/protocol", json!("x".repeat(201)), "/protocol: expected 1"),
        ("/provider", json!("me"), "/provider: expected an object"),
        (
            "/provider/name",
            json!(1),
            "/provider/name: expected a text",
        ),
        (
            "/provider/url",
            json!("js:x"),
            "/provider/url: expected http",
        ),
        ("/access", json!([]), "/access: expected an object, got a"),
        (
            "/extra",
            json!(1),
            "/extra: is an unknown key: the keys here",
        ),
    ]);
}

#[test]
fn a_mistake_in_an_address_a_schema_or_auth_has_its_place() {
    let elsewhere = json!({"$ref": "https://example.com/other.json"});
    let split = json!({"status_url": "https://h/a\r\nX: y"});
    let odd = json!({"type": "api_key", "key": "k"});
    each_is_told([
        (
            "/endpoint",
            json!({"url": "x"}),
            "/endpoint/url: is an unknown",
        ),
        ("/endpoint", split, "/endpoint/status_url: expected http"),
        (
            "/inputs/type",
            json!("array"),
            "/inputs/type: expected \"object",
        ),
        (
            "/inputs/properties/text/type",
            json!("words"),
            "/inputs/properties/text/type: is no JSON Schema",
        ),
        (
            "/output",
            elsewhere,
            "/output/$ref: is no JSON Schema: what it",
        ),
        (
            "/auth",
            json!({"type": "custom"}),
            "/auth: type `custom` is not",
        ),
        ("/auth", odd, "/auth: unknown field `key`"),
    ]);
}

#[test]
fn a_mistake_in_how_it_is_served_has_its_place() {
    let absent = "/puruto/prompt: names inputs.body, yet the inputs have only text";
    let negative = json!({"max_attempts": -1});
    each_is_told([
        (
            "/puruto",
            json!(null),
            "/puruto: expected an object, got null",
        ),
        (
            "/puruto/target",
            json!("a b"),
            "/puruto/target: expected [A-Z",
        ),
        (
            "/puruto/action",
            json!("a.b"),
            "/puruto/action: expected [A-Z",
        ),
        (
            "/puruto/prompt",
            json!("{{"),
            "/puruto/prompt: does not compile",
        ),
        ("/puruto/prompt", json!("{{ inputs.body }}"), absent),
        (
            "/puruto/timeout_sec",
            json!(0),
            "/puruto/timeout_sec: expected",
        ),
        (
            "/puruto/priority",
            json!("now"),
            "/puruto/priority: expected h",
        ),
        (
            "/puruto/retry",
            negative,
            "/puruto/retry/max_attempts: expected",
        ),
        (
            "/puruto/retry",
            json!({"delay": 1}),
            "/puruto/retry/delay: is an",
        ),
        ("/puruto/a~b", json!(1), "/puruto/a~0b: is an unknown key"),
    ]);
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once() {
    let empty = read(&json!({})).expect_err("nothing in it");
    let missing = |it: &&Finding| it.code == FindingCode::SkillMissingKey;
    assert_eq!(empty.iter().filter(missing).count(), 11, "{empty:?}");
    let mut descriptor = with("/id", json!("a"));
    descriptor["auth"]["type"] = json!("custom");
    descriptor["puruto"]["target"] = json!("");
    descriptor["puruto"]["prompt"] = json!("{{ a }}{{ inputs.b }}");
    descriptor["surplus"] = json!(true);
    assert_eq!(told(&descriptor).len(), 6);
}

#[test]
fn what_is_no_document_is_no_skill() {
    let told = |bytes: &[u8]| {
        let findings = super::read(Path::new("a.json"), bytes).expect_err("no skill");
        findings[0].to_string()
    };
    for (bytes, says) in [
        (&b"{"[..], "expected one JSON document"),
        (b"\xff", "expected UTF-8 text"),
        (b"[]", "expected an object, got a list"),
        (
            br#"{"id": "a.b", "id": "a.c"}"#,
            "id: expected one value a key",
        ),
    ] {
        let told = told(bytes);
        assert!(told.starts_with("error[invalid-skill] a.json: "), "{told}");
        assert!(told.contains(says), "{told}");
    }
}

#[test]
fn what_is_published_has_the_documented_keys_and_nothing_of_ours() {
    let gateway = "https://fleet.example".parse().expect("an address");
    let published = read(&example()).expect("a skill").published(&gateway);
    let object = published.as_object().expect("an object");
    let keys: Vec<_> = object.keys().map(String::as_str).collect();
    let (puruto, documented) = KEYS.split_last().expect("not empty");
    assert_eq!((keys, *puruto), (documented.to_vec(), "puruto"));
    assert_eq!(
        published["endpoint"],
        json!({
            "invocation_endpoint": "https://fleet.example/v1/invocations",
            "status_url": "https://fleet.example/v1/executions/{execution_id}",
            "result_url": "https://fleet.example/v1/executions/{execution_id}/result",
        })
    );
    assert_eq!(published["inputs"], example()["inputs"]);
    assert_eq!(published["access"], json!({}));
    assert!(!published.to_string().contains("puruto"), "{published}");
}

proptest! {
    #[test]
    fn any_bytes_are_a_skill_or_told_why_not(bytes: Vec<u8>, at in 0_usize..900) {
        let mut damaged = example().to_string().into_bytes();
        let from = at.min(damaged.len());
        let to = (from + bytes.len()).min(damaged.len());
        damaged.splice(from..to, bytes);
        if let Err(findings) = super::read(Path::new("a.json"), &damaged) {
            prop_assert!(!findings.is_empty());
        }
    }
}
