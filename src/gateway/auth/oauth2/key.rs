//! The keys that an issuer signs with, as its JWK Set says (RFC 7517).
//!
//! Never: a key whose use is left to the token. Each key says which algorithms it is for.

use jsonwebtoken::{
    Algorithm, DecodingKey,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse},
};
use serde::Deserialize;

use super::TokenFault;

/// Most keys of a set that are looked at.
const KEYS_MAX: usize = 64;

/// One public key.
#[derive(Clone, Debug)]
pub(super) struct SigningKey {
    kid: Option<Box<str>>,
    algorithms: &'static [Algorithm],
    key: DecodingKey,
}

impl SigningKey {
    /// What it may check; at least one, all of one family.
    pub(super) const fn algorithms(&self) -> &'static [Algorithm] {
        self.algorithms
    }

    pub(super) const fn decoding_key(&self) -> &DecodingKey {
        &self.key
    }

    /// `None` for what checks no signature that is taken here: a symmetric key above all, but also
    /// one for encryption, or of another curve.
    fn of(jwk: &Jwk) -> Option<Self> {
        let algorithms = algorithms(jwk);
        if algorithms.is_empty() || !checks_signatures(jwk) {
            return None;
        }
        Some(Self {
            kid: jwk.common.key_id.as_deref().map(Box::from),
            algorithms,
            key: DecodingKey::from_jwk(jwk).ok()?,
        })
    }
}

fn algorithms(jwk: &Jwk) -> &'static [Algorithm] {
    use AlgorithmParameters as Is;
    use KeyAlgorithm as For;
    match (&jwk.algorithm, jwk.common.key_algorithm) {
        (Is::RSA(_), None) => &[Algorithm::RS256, Algorithm::PS256],
        (Is::RSA(_), Some(For::RS256)) => &[Algorithm::RS256],
        (Is::RSA(_), Some(For::PS256)) => &[Algorithm::PS256],
        (Is::EllipticCurve(point), None | Some(For::ES256))
            if point.curve == EllipticCurve::P256 =>
        {
            &[Algorithm::ES256]
        }
        (Is::OctetKeyPair(point), None | Some(For::EdDSA))
            if point.curve == EllipticCurve::Ed25519 =>
        {
            &[Algorithm::EdDSA]
        }
        _ => &[],
    }
}

fn checks_signatures(jwk: &Jwk) -> bool {
    let used = jwk.common.public_key_use.as_ref();
    let operations = jwk.common.key_operations.as_ref();
    used.is_none_or(|used| *used == PublicKeyUse::Signature)
        && operations.is_none_or(|all| all.contains(&KeyOperations::Verify))
}

/// All keys of an issuer that check signatures.
#[derive(Clone, Debug)]
pub(in crate::gateway::auth) struct SigningKeys(Vec<SigningKey>);

#[derive(Deserialize)]
struct Document {
    keys: Vec<serde_json::Value>,
}

impl SigningKeys {
    /// Those in a JWK Set; `None` when it is none or has no key for us.
    pub(super) fn read(document: &[u8]) -> Option<Self> {
        let document: Document = serde_json::from_slice(document).ok()?;
        // One by one: a kind of key that came after us must not hide those that we know.
        let jwks = document.keys.into_iter().take(KEYS_MAX);
        let jwks = jwks.filter_map(|key| serde_json::from_value(key).ok());
        let keys: Vec<_> = jwks.filter_map(|jwk| SigningKey::of(&jwk)).collect();
        (!keys.is_empty()).then_some(Self(keys))
    }

    /// Whether a key is called so; a token that names none is content with any.
    pub(super) fn knows(&self, kid: Option<&str>) -> bool {
        self.called(kid).next().is_some()
    }

    /// The one key that a token means.
    pub(super) fn find(
        &self,
        kid: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<&SigningKey, TokenFault> {
        if !self.knows(kid) {
            return Err(TokenFault::UnknownKey);
        }
        let mut fitting = self
            .called(kid)
            .filter(|key| key.algorithms.contains(&algorithm));
        match (fitting.next(), fitting.next()) {
            (Some(key), None) => Ok(key),
            // To try one after the other would let a token choose.
            (Some(_), Some(_)) => Err(TokenFault::UnknownKey),
            (None, _) => Err(TokenFault::OtherAlgorithm),
        }
    }

    fn called(&self, kid: Option<&str>) -> impl Iterator<Item = &SigningKey> {
        let called = move |key: &&SigningKey| kid.is_none() || key.kid.as_deref() == kid;
        self.0.iter().filter(called)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const X: &str = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
    const Y: &str = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";

    fn read(keys: Value) -> Option<SigningKeys> {
        SigningKeys::read(json!({ "keys": keys }).to_string().as_bytes())
    }

    fn with(mut key: Value, name: &str, value: Value) -> Value {
        key[name] = value;
        key
    }

    #[test]
    fn a_key_alone_says_what_it_is_for() {
        use Algorithm as A;
        let rsa = json!({"kty": "RSA", "n": "AQAB", "e": "AQAB"});
        let ec = json!({"kty": "EC", "crv": "P-256", "x": X, "y": Y});
        let ed = json!({"kty": "OKP", "crv": "Ed25519", "x": X});
        for (key, algorithms) in [
            (rsa.clone(), &[A::RS256, A::PS256][..]),
            (with(rsa.clone(), "alg", json!("RS256")), &[A::RS256]),
            (with(rsa.clone(), "alg", json!("PS256")), &[A::PS256]),
            (with(rsa.clone(), "alg", json!("RSA-OAEP")), &[]),
            (with(rsa.clone(), "alg", json!("HS256")), &[]),
            (
                with(rsa.clone(), "use", json!("sig")),
                &[A::RS256, A::PS256],
            ),
            (with(rsa.clone(), "use", json!("enc")), &[]),
            (with(rsa, "key_ops", json!(["encrypt"])), &[]),
            (with(ec.clone(), "key_ops", json!(["verify"])), &[A::ES256]),
            (with(ec.clone(), "crv", json!("P-384")), &[]),
            (with(ec.clone(), "crv", json!("secp256k1")), &[]),
            (with(ec, "alg", json!("RS256")), &[]),
            (with(ed.clone(), "alg", json!("EdDSA")), &[A::EdDSA]),
            (with(ed, "crv", json!("X25519")), &[]),
            (json!({"kty": "oct", "k": "c2VjcmV0"}), &[]),
            (json!({"kty": "new"}), &[]),
            (json!(7), &[]),
        ] {
            let read = read(json!([key]));
            let told = read.map_or(&[][..], |keys| keys.0[0].algorithms);
            assert_eq!(told, algorithms, "{key}");
        }
    }

    #[test]
    fn a_token_gets_the_one_key_that_it_names_and_no_choice() {
        let ec = json!({"kty": "EC", "crv": "P-256", "x": X, "y": Y});
        let named = |kid: &str| with(ec.clone(), "kid", json!(kid));
        let keys = read(json!([
            named("a"),
            named("b"),
            named("twice"),
            named("twice"),
            7
        ]));
        let keys = keys.expect("keys");
        let find = |kid, algorithm| keys.find(kid, algorithm).map(|key| key.kid.clone());
        assert_eq!(find(Some("a"), Algorithm::ES256), Ok(Some("a".into())));
        for (kid, algorithm, fault) in [
            (Some("c"), Algorithm::ES256, TokenFault::UnknownKey),
            (Some("a"), Algorithm::RS256, TokenFault::OtherAlgorithm),
            (Some("a"), Algorithm::HS256, TokenFault::OtherAlgorithm),
            (Some("twice"), Algorithm::ES256, TokenFault::UnknownKey),
            (None, Algorithm::ES256, TokenFault::UnknownKey),
        ] {
            assert_eq!(find(kid, algorithm), Err(fault), "{kid:?}");
        }
        let only = read(json!([named("a")])).expect("a key");
        assert!(only.find(None, Algorithm::ES256).is_ok());
    }

    #[test]
    fn what_has_no_key_for_us_is_no_set() {
        for document in ["", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":[]}"#] {
            assert!(
                SigningKeys::read(document.as_bytes()).is_none(),
                "{document}"
            );
        }
    }
}
