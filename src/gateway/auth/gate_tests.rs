//! Who is let in, and what those hear who are not.

use axum::http::{HeaderMap, HeaderValue, header};
use serde_json::json;

use super::*;
use crate::{
    clock::WallTime,
    gateway::auth::oauth2::test_issuer::{By, NAME, NOW, TestIssuer, claims},
};

const KEYS: &str = r#"
[[key]]
name = "ci"
sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
skills = ["com.example.*"]
targets = ["puruto-echo"]
[[key]]
name = "old"
sha256 = "cb8379ac2098aa165029e3938a51da0bcecfc008fd6795f401178647f96c5b34"
skills = ["*"]
expires = 2026-01-01T00:00:00Z
"#;
/// The keys of the file above.
const CI: &str = "abc";
const OLD: &str = "def";
const SKILL: &str = "com.example.translate-v1";

struct Door {
    gate: Gate,
    issuer: TestIssuer,
}

impl Door {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("keys.toml");
        std::fs::write(&file, KEYS).expect("written");
        let issuer = TestIssuer::new();
        let gate = Gate {
            keys: LiveKeys::fixed(KeySet::load(&file).expect("valid")),
            issuer: Some(issuer.known()),
            clock: Clock::manual(WallTime::from_unix_millis(NOW * 1_000)),
        };
        Self { gate, issuer }
    }

    fn bearer(&self, scope: &str) -> HeaderMap {
        let mut claims = claims();
        claims["scope"] = json!(scope);
        bearer(&self.issuer.token(By::Es256, &claims))
    }

    async fn identify(&self, headers: &HeaderMap) -> Result<Principal, Refusal> {
        self.gate.identify(&Presented::new(headers)).await
    }

    async fn admit(&self, scheme: &str, headers: &HeaderMap) -> Result<Principal, Refusal> {
        self.admit_to_skill(scheme, &Presented::new(headers), SKILL)
            .await
    }

    async fn admit_to_skill(
        &self,
        scheme: &str,
        presented: &Presented<'_>,
        skill: &str,
    ) -> Result<Principal, Refusal> {
        let scheme = serde_json::from_str(scheme).expect("a scheme");
        self.gate.admit(&scheme, presented, skill).await
    }
}

const NONE: &str = r#"{"type":"none"}"#;
const KEY: &str = r#"{"type":"api_key"}"#;
const OTHER_KEY: &str = r#"{"type":"api_key","header":"X-Other"}"#;
const TOKEN: &str = r#"{"type":"oauth2"}"#;
const PAY: &str = r#"{"type":"oauth2","scope":"pay"}"#;

fn bearer(token: &str) -> HeaderMap {
    let value = HeaderValue::try_from(format!("Bearer {token}")).expect("a header");
    HeaderMap::from_iter([(header::AUTHORIZATION, value)])
}

fn key(header: &'static str, key: &'static str) -> HeaderMap {
    let (name, value) = (
        HeaderName::from_static(header),
        HeaderValue::from_static(key),
    );
    HeaderMap::from_iter([(name, value)])
}

fn ci() -> Principal {
    Principal::Key("ci".into())
}

fn ann() -> Principal {
    Principal::Subject {
        issuer: NAME.into(),
        subject: "ann".into(),
    }
}

/// The reason and the challenge of a refusal that asks for a proof.
fn asks(refusal: Result<Principal, Refusal>) -> (String, String) {
    match refusal {
        Err(Refusal::AuthRequired { why, challenge }) => {
            (why, challenge.to_str().expect("ascii").to_owned())
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn whoever_shows_what_a_skill_asks_for_is_let_in() {
    let door = Door::new();
    let nothing = HeaderMap::new();
    let (token, paying) = (door.bearer("skill:invoke"), door.bearer("skill:invoke pay"));
    for (scheme, headers, who) in [
        (NONE, &nothing, Principal::Anonymous),
        (NONE, &key("x-api-key", CI), ci()),
        (NONE, &token, ann()),
        (KEY, &key("x-api-key", CI), ci()),
        (OTHER_KEY, &key("x-other", CI), ci()),
        (TOKEN, &token, ann()),
        (PAY, &paying, ann()),
    ] {
        assert_eq!(
            door.admit(scheme, headers).await,
            Ok(who.clone()),
            "{scheme}"
        );
        if scheme != OTHER_KEY {
            assert_eq!(door.identify(headers).await, Ok(who), "{scheme}");
        }
    }
    let presented = Presented::new(&nothing).with_key(Some(CI));
    for scheme in [KEY, OTHER_KEY, NONE] {
        let admitted = door.admit_to_skill(scheme, &presented, SKILL).await;
        assert_eq!(admitted, Ok(ci()), "{scheme}");
    }
    let (headers, names) = (key("x-other", CI), [HeaderName::from_static("x-other")]);
    let presented = Presented::new(&headers).looking_in(&names);
    assert_eq!(door.gate.identify(&presented).await, Ok(ci()));
}

#[tokio::test]
async fn whoever_shows_something_else_hears_what_to_show() {
    let door = Door::new();
    let nothing = HeaderMap::new();
    let by_key = r#"ApiKey realm="puruto", header="x-api-key""#;
    let by_other = r#"ApiKey realm="puruto", header="x-other""#;
    let by_token = r#"Bearer realm="puruto", scope="skill:invoke""#;
    for (scheme, headers, challenge) in [
        (KEY, &nothing, by_key),
        (KEY, &door.bearer("skill:invoke"), by_key),
        (OTHER_KEY, &nothing, by_other),
        (OTHER_KEY, &key("x-api-key", CI), by_other),
        (TOKEN, &nothing, by_token),
        (TOKEN, &key("x-api-key", CI), by_token),
    ] {
        assert_eq!(
            asks(door.admit(scheme, headers).await).1,
            challenge,
            "{scheme}"
        );
    }
}

#[tokio::test]
async fn a_key_that_expired_is_answered_like_one_that_never_was() {
    let door = Door::new();
    let guess = asks(door.admit(KEY, &key("x-api-key", "guess")).await);
    assert_eq!(guess.0, "this key is not good");
    for (scheme, tried) in [(KEY, OLD), (NONE, OLD), (NONE, ""), (KEY, "ABC")] {
        assert_eq!(
            asks(door.admit(scheme, &key("x-api-key", tried)).await),
            guess
        );
    }
    assert_eq!(asks(door.identify(&key("x-api-key", OLD)).await), guess);
    let long = CI.repeat(KEY_BYTES_MAX);
    let presented = HeaderMap::new();
    let presented = Presented::new(&presented).with_key(Some(&long));
    assert_eq!(
        asks(door.admit_to_skill(KEY, &presented, SKILL).await),
        guess
    );
}

#[tokio::test]
async fn a_key_is_good_for_what_its_entry_says_and_no_more() {
    let door = Door::new();
    let headers = key("x-api-key", CI);
    let presented = Presented::new(&headers);
    let denied = door.admit_to_skill(KEY, &presented, "com.other").await;
    let why = "the key `ci` is not good for the skill \"com.other\"";
    assert_eq!(denied, Err(Refusal::denied(why)));
    let echo = "puruto-echo".parse().expect("a name");
    assert_eq!(door.gate.admit_to(&echo, &presented).await, Ok(ci()));
    let bank = "puruto-financial".parse().expect("a name");
    let denied = door.gate.admit_to(&bank, &presented).await;
    let why = "the key `ci` is not good for `puruto-financial`";
    assert_eq!(denied, Err(Refusal::denied(why)));
}

#[tokio::test]
async fn a_token_without_the_scope_is_denied_and_hears_which_one_it_needs() {
    let door = Door::new();
    let plain = door.bearer("skill:invoke");
    let other = door.bearer("skill:invoke2 skill pay");
    let echo = "puruto-echo".parse().expect("a name");
    let to_echo = door.gate.admit_to(&echo, &Presented::new(&other)).await;
    for (denied, scope) in [
        (door.admit(PAY, &plain).await, "pay"),
        (door.admit(TOKEN, &other).await, "skill:invoke"),
        (to_echo, "skill:invoke"),
    ] {
        let challenge =
            format!(r#"Bearer realm="puruto", error="insufficient_scope", scope="{scope}""#);
        let challenge = HeaderValue::try_from(challenge).ok();
        let why = format!("the token does not have the scope `{scope}`");
        assert_eq!(denied, Err(Refusal::Denied { why, challenge }));
    }
    assert_eq!(door.identify(&other).await, Ok(ann()));
}

#[tokio::test]
async fn a_token_that_is_not_taken_hears_why_on_every_route() {
    let door = Door::new();
    let mut late = claims();
    late["exp"] = json!(NOW - 3_600);
    let late = bearer(&door.issuer.token(By::Rs256, &late));
    let expected = (
        "this token is not taken: it has expired".to_owned(),
        r#"Bearer realm="puruto", error="invalid_token", error_description="it has expired""#
            .to_owned(),
    );
    for scheme in [NONE, TOKEN] {
        assert_eq!(asks(door.admit(scheme, &late).await), expected);
    }
    assert_eq!(asks(door.identify(&late).await), expected);
    let (why, _) = asks(door.identify(&bearer("")).await);
    assert!(
        why.starts_with("this token is not taken: it is no signed JWT"),
        "{why}"
    );
}

#[tokio::test]
async fn a_key_and_a_token_together_are_refused_as_unclear() {
    let door = Door::new();
    let mut both = door.bearer("skill:invoke");
    both.extend(key("x-api-key", CI));
    let echo = "puruto-echo".parse().expect("a name");
    for refusal in [
        door.admit(NONE, &both).await,
        door.admit(KEY, &both).await,
        door.admit(TOKEN, &both).await,
        door.identify(&both).await,
        door.gate.admit_to(&echo, &Presented::new(&both)).await,
    ] {
        let (why, challenge) = asks(refusal);
        assert_eq!(why, "several credentials came with the request: send one");
        let either = r#"Bearer realm="puruto", ApiKey realm="puruto", header="x-api-key""#;
        assert_eq!(challenge, either);
    }
}

#[tokio::test]
async fn nobody_reaches_a_target_without_a_proof() {
    let door = Door::new();
    let echo = "puruto-echo".parse().expect("a name");
    let nothing = HeaderMap::new();
    let (why, _) = asks(door.gate.admit_to(&echo, &Presented::new(&nothing)).await);
    assert!(
        why.starts_with("send a key in the header x-api-key"),
        "{why}"
    );
}

#[tokio::test]
async fn a_gateway_without_an_issuer_takes_no_token() {
    let mut door = Door::new();
    let token = door.bearer("skill:invoke");
    door.gate.issuer = None;
    assert!(!door.gate.takes_tokens());
    let (why, _) = asks(door.admit(TOKEN, &token).await);
    assert_eq!(why, "this token is not taken: no issuer is configured here");
}

#[tokio::test(start_paused = true)]
async fn an_issuer_whose_keys_cannot_be_had_is_told_as_that() {
    let mut door = Door::new();
    let token = door.bearer("skill:invoke");
    // Longer than the keys are good, with nobody there to fetch them again.
    tokio::time::advance(Duration::from_secs(4_000)).await;
    let refusal = door.admit(TOKEN, &token).await.expect_err("no keys");
    assert!(
        matches!(refusal, Refusal::Unavailable { .. }),
        "{refusal:?}"
    );
    door.gate.issuer = None;
}
