//! Tokens of an issuer with real keys, and of those who would like to be it.

use ring::hmac;
use serde_json::{Value, json};

use super::{
    TokenFault, Vouched,
    test_issuer::{By, TOKEN_MAX, TestIssuer, b64, claims, now, unsigned},
};

/// What a gateway that knows `issuer` says of `token`.
async fn check(issuer: &TestIssuer, token: &str) -> Result<Vouched, TokenFault> {
    issuer.known().check(token, now()).await
}

#[tokio::test]
async fn a_token_is_taken_however_its_issuer_signs() {
    let issuer = TestIssuer::new();
    for by in By::ALL {
        let token = issuer.token(by, &claims());
        let vouched = check(&issuer, &token).await.expect("good");
        assert_eq!(&*vouched.subject, "ann", "{by:?}");
    }
}

#[tokio::test]
async fn a_token_that_somebody_else_signed_is_refused() {
    let (issuer, other) = (TestIssuer::new(), TestIssuer::new());
    for by in [By::Es256, By::EdDsa] {
        let token = other.token(by, &claims());
        assert_eq!(check(&issuer, &token).await, Err(TokenFault::Signature));
    }
}

#[tokio::test]
async fn a_token_that_was_changed_is_refused() {
    let issuer = TestIssuer::new();
    let mut promoted = claims();
    promoted["sub"] = json!("root");
    for by in By::ALL {
        let token = issuer.token(by, &claims());
        let parts: Vec<&str> = token.split('.').collect();
        let payload = b64(promoted.to_string().as_bytes());
        for (changed, fault) in [
            (
                format!("{}.{payload}.{}", parts[0], parts[2]),
                TokenFault::Signature,
            ),
            (format!("{}.{}.", parts[0], parts[1]), TokenFault::Signature),
            (format!("{}.{}", parts[0], parts[1]), TokenFault::Malformed),
            (format!("{token}.{}", parts[2]), TokenFault::Malformed),
            (format!("{token}="), TokenFault::Malformed),
            (token.replace('.', ""), TokenFault::Malformed),
        ] {
            assert_eq!(
                check(&issuer, &changed).await,
                Err(fault),
                "{by:?} {changed}"
            );
        }
    }
}

#[tokio::test]
async fn a_token_without_a_signature_is_refused() {
    let issuer = TestIssuer::new();
    for none in ["none", "None", "NONE", "nOnE", ""] {
        for kid in [json!("rsa"), Value::Null] {
            let header = json!({"alg": none, "kid": kid});
            let token = format!("{}.", unsigned(&header, &claims()));
            let verdict = check(&issuer, &token).await;
            assert_eq!(verdict, Err(TokenFault::Malformed), "{header}");
        }
    }
}

#[tokio::test]
async fn a_token_that_is_signed_with_a_public_key_as_a_secret_is_refused() {
    let issuer = TestIssuer::new();
    let jwks = issuer.jwks();
    for (key, secret) in [("rsa", "n"), ("ec", "x"), ("ed", "x")] {
        let jwk = jwks["keys"].as_array().expect("keys").iter();
        let jwk = jwk.clone().find(|it| it["kid"] == key).expect("a key");
        let written = jwk[secret].as_str().expect("a text");
        for secret in [written.as_bytes(), jwk.to_string().as_bytes()] {
            let message = unsigned(&json!({"alg": "HS256", "kid": key}), &claims());
            let by = hmac::Key::new(hmac::HMAC_SHA256, secret);
            let signature = hmac::sign(&by, message.as_bytes());
            let token = format!("{message}.{}", b64(signature.as_ref()));
            let verdict = check(&issuer, &token).await;
            assert_eq!(verdict, Err(TokenFault::OtherAlgorithm), "{key}");
        }
    }
}

#[tokio::test]
async fn a_token_cannot_choose_its_key() {
    let issuer = TestIssuer::new();
    let header = |alg: &str, kid: &str| json!({"alg": alg, "kid": kid});
    for (by, header, fault) in [
        (By::Rs256, header("RS256", "ec"), TokenFault::OtherAlgorithm),
        (
            By::Es256,
            header("ES256", "rsa"),
            TokenFault::OtherAlgorithm,
        ),
        (By::Es256, header("ES384", "ec"), TokenFault::OtherAlgorithm),
        (
            By::Rs256,
            header("RS512", "rsa"),
            TokenFault::OtherAlgorithm,
        ),
        (By::Ps256, header("RS256", "rsa"), TokenFault::Signature),
        (By::Es256, header("ES256", "../ec"), TokenFault::UnknownKey),
        (By::Es256, header("ES256", ""), TokenFault::UnknownKey),
    ] {
        let token = issuer.sign(by, &header, &claims());
        assert_eq!(check(&issuer, &token).await, Err(fault), "{header}");
    }
}

#[tokio::test]
async fn a_token_cannot_bring_its_key_or_what_its_reader_must_know() {
    let (issuer, other) = (TestIssuer::new(), TestIssuer::new());
    let brought = other.jwks()["keys"][1].clone();
    for (more, fault) in [
        (json!({"jwk": brought}), TokenFault::Signature),
        (
            json!({"jku": "https://other.example"}),
            TokenFault::Signature,
        ),
        (json!({"kid": 7}), TokenFault::Malformed),
        (json!({"crit": ["x"], "x": 1}), TokenFault::Malformed),
        (json!({"b64": false}), TokenFault::Malformed),
    ] {
        let mut header = json!({"alg": "ES256", "kid": "ec"});
        for (name, value) in more.as_object().expect("an object") {
            header[name] = value.clone();
        }
        let token = other.sign(By::Es256, &header, &claims());
        assert_eq!(check(&issuer, &token).await, Err(fault), "{header}");
    }
}

#[tokio::test]
async fn a_token_that_names_no_key_is_content_with_the_only_one_that_fits() {
    let issuer = TestIssuer::new();
    let token = issuer.sign(By::Es256, &json!({"alg": "ES256"}), &claims());
    assert!(check(&issuer, &token).await.is_ok());
}

#[tokio::test]
async fn a_signature_does_not_make_up_for_what_a_token_says() {
    let issuer = TestIssuer::new();
    for (claim, value, fault) in [
        ("aud", json!("another"), TokenFault::OtherAudience),
        (
            "iss",
            json!("https://other.example"),
            TokenFault::OtherIssuer,
        ),
        ("exp", json!(1_700_000_000), TokenFault::Expired),
        ("exp", Value::Null, TokenFault::Claim("exp")),
        ("nbf", json!(1_900_000_000), TokenFault::NotYet),
        ("iat", json!(1_900_000_000), TokenFault::NotYet),
        ("sub", Value::Null, TokenFault::Claim("sub")),
    ] {
        let mut claims = claims();
        claims[claim] = value;
        let token = issuer.token(By::Rs256, &claims);
        assert_eq!(check(&issuer, &token).await, Err(fault), "{claims}");
    }
    let token = issuer.token(By::Rs256, &json!(["sub"]));
    assert_eq!(check(&issuer, &token).await, Err(TokenFault::Malformed));
}

#[tokio::test]
async fn a_token_of_any_length_is_looked_at_up_to_a_bound() {
    let issuer = TestIssuer::new();
    let mut long = claims();
    long["padding"] = json!("a".repeat(TOKEN_MAX));
    let token = issuer.token(By::Es256, &long);
    assert_eq!(
        check(&issuer, &token).await,
        Err(TokenFault::TooLong(TOKEN_MAX))
    );
    for junk in [
        "",
        ".",
        "..",
        "a.b.c",
        "\u{0}",
        &"x".repeat(TOKEN_MAX),
        &".".repeat(99),
    ] {
        assert_eq!(
            check(&issuer, junk).await,
            Err(TokenFault::Malformed),
            "{junk}"
        );
    }
}
