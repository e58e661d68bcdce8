//! An OAuth 2.0 issuer with real keys, that a gateway finds by its metadata.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    hmac,
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
        RsaPublicKeyComponents,
    },
};
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path},
};

/// For whom its tokens are meant.
pub(crate) const AUDIENCE: &str = "puruto-gateway";

/// How a token is signed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Signed {
    Rs256,
    Es256,
    /// Not at all: `alg` is `none`.
    Not,
    /// With the public key of RS256 as the secret of HS256.
    ByPublicKey,
}

/// An issuer that serves its metadata and its keys.
pub(crate) struct Issuer {
    server: MockServer,
    rsa: RsaKeyPair,
    ec: EcdsaKeyPair,
    random: SystemRandom,
}

impl Issuer {
    /// Its RSA key is one that stands beside the unit tests, since ring makes none.
    pub(crate) async fn start() -> Self {
        let random = SystemRandom::new();
        let rsa = include_bytes!("../../../src/gateway/auth/oauth2/testdata/rsa2048.pk8");
        let curve = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let ec = EcdsaKeyPair::generate_pkcs8(curve, &random).expect("a key");
        let issuer = Self {
            server: MockServer::start().await,
            rsa: RsaKeyPair::from_pkcs8(rsa).expect("a key"),
            ec: EcdsaKeyPair::from_pkcs8(curve, ec.as_ref(), &random).expect("a key"),
            random,
        };
        let metadata =
            json!({"issuer": issuer.url(), "jwks_uri": format!("{}/keys", issuer.url())});
        issuer
            .serve("/.well-known/openid-configuration", &metadata)
            .await;
        issuer.serve("/keys", &issuer.keys()).await;
        issuer
    }

    pub(crate) fn url(&self) -> String {
        self.server.uri()
    }

    /// What a good token of `subject` says.
    pub(crate) fn claims(&self, subject: &str) -> Value {
        json!({
            "iss": self.url(), "aud": AUDIENCE, "sub": subject,
            "iat": now(), "exp": now() + 600, "scope": "skill:invoke",
        })
    }

    /// A token that says so.
    pub(crate) fn token(&self, signed: Signed, claims: &Value) -> String {
        let header = match signed {
            Signed::Rs256 => json!({"alg": "RS256", "kid": "rsa"}),
            Signed::Es256 => json!({"alg": "ES256", "kid": "ec"}),
            Signed::Not => json!({"alg": "none", "kid": "rsa"}),
            Signed::ByPublicKey => json!({"alg": "HS256", "kid": "rsa"}),
        };
        let part = |part: &Value| b64(part.to_string().as_bytes());
        let message = format!("{}.{}", part(&header), part(claims));
        let signature = self.signature(signed, message.as_bytes());
        format!("{message}.{}", b64(&signature))
    }

    fn signature(&self, signed: Signed, message: &[u8]) -> Vec<u8> {
        match signed {
            Signed::Rs256 => {
                let mut signature = vec![0; self.rsa.public().modulus_len()];
                let made = self
                    .rsa
                    .sign(&RSA_PKCS1_SHA256, &self.random, message, &mut signature);
                made.expect("signed");
                signature
            }
            Signed::Es256 => {
                let made = self.ec.sign(&self.random, message);
                made.expect("signed").as_ref().to_vec()
            }
            Signed::Not => Vec::new(),
            Signed::ByPublicKey => {
                let secret = self.rsa.public().as_ref();
                let by = hmac::Key::new(hmac::HMAC_SHA256, secret);
                hmac::sign(&by, message).as_ref().to_vec()
            }
        }
    }

    fn keys(&self) -> Value {
        let rsa: RsaPublicKeyComponents<Vec<u8>> = self.rsa.public().into();
        let point = self.ec.public_key().as_ref();
        json!({"keys": [
            {"kid": "rsa", "kty": "RSA", "n": b64(&rsa.n), "e": b64(&rsa.e)},
            {"kid": "ec", "kty": "EC", "crv": "P-256",
             "x": b64(&point[1..33]), "y": b64(&point[33..])},
        ]})
    }

    async fn serve(&self, at: &str, answer: &Value) {
        let page = Mock::given(method("GET")).and(path(at));
        let answer = ResponseTemplate::new(200).set_body_json(answer);
        page.respond_with(answer).mount(&self.server).await;
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the gateway's process has the time of day"
)]
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("after 1970").as_secs()
}

fn b64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
