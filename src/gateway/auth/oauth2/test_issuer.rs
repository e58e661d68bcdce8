//! An issuer with keys of every kind, for tests.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
        RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaKeyPair, RsaPublicKeyComponents,
    },
};
use serde_json::{Value, json};

use super::{Issuer, keeper::LiveSigningKeys, key::SigningKeys};
use crate::clock::WallTime;

pub(in crate::gateway::auth) const NAME: &str = "https://issuer.example";
pub(in crate::gateway::auth) const AUDIENCE: &str = "gateway";
/// Longest token that is looked at, in bytes.
pub(super) const TOKEN_MAX: usize = 8 * 1024;
/// The time of day in tests, in seconds since 1970.
pub(in crate::gateway::auth) const NOW: u64 = 1_800_000_000;

/// How a token is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gateway::auth) enum By {
    Rs256,
    Ps256,
    Es256,
    EdDsa,
}

impl By {
    pub(super) const ALL: [Self; 4] = [Self::Rs256, Self::Ps256, Self::Es256, Self::EdDsa];

    pub(super) const fn alg(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }

    /// The key that it signs with, as its set calls it.
    pub(super) const fn kid(self) -> &'static str {
        match self {
            Self::Rs256 | Self::Ps256 => "rsa",
            Self::Es256 => "ec",
            Self::EdDsa => "ed",
        }
    }
}

pub(in crate::gateway::auth) struct TestIssuer {
    rsa: RsaKeyPair,
    ec: EcdsaKeyPair,
    ed: Ed25519KeyPair,
    random: SystemRandom,
}

impl TestIssuer {
    /// Its RSA key is always the same, since ring makes none; the others are new.
    pub(in crate::gateway::auth) fn new() -> Self {
        let random = SystemRandom::new();
        let rsa = include_bytes!("testdata/rsa2048.pk8");
        let ec = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
        let ec = ec.expect("a key");
        let ed = Ed25519KeyPair::generate_pkcs8(&random).expect("a key");
        Self {
            rsa: RsaKeyPair::from_pkcs8(rsa).expect("a key"),
            ec: EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, ec.as_ref(), &random)
                .expect("a key"),
            ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).expect("a key"),
            random,
        }
    }

    /// Its public keys, called `rsa`, `ec` and `ed`.
    pub(in crate::gateway::auth) fn jwks(&self) -> Value {
        let rsa: RsaPublicKeyComponents<Vec<u8>> = self.rsa.public().into();
        let point = self.ec.public_key().as_ref();
        json!({"keys": [
            {"kid": "rsa", "kty": "RSA", "use": "sig", "n": b64(&rsa.n), "e": b64(&rsa.e)},
            {"kid": "ec", "kty": "EC", "crv": "P-256", "alg": "ES256",
             "x": b64(&point[1..33]), "y": b64(&point[33..])},
            {"kid": "ed", "kty": "OKP", "crv": "Ed25519", "x": b64(self.ed.public_key().as_ref())},
        ]})
    }

    pub(super) fn keys(&self) -> SigningKeys {
        SigningKeys::read(self.jwks().to_string().as_bytes()).expect("keys")
    }

    /// The gateway's view of it, with its keys at hand.
    pub(in crate::gateway::auth) fn known(&self) -> Issuer {
        Issuer {
            name: NAME.parse().expect("an address"),
            audience: AUDIENCE.into(),
            keys: LiveSigningKeys::fixed(self.keys()),
            token_max: TOKEN_MAX,
        }
    }

    /// A token with `claims`, signed as it says it is.
    pub(in crate::gateway::auth) fn token(&self, by: By, claims: &Value) -> String {
        self.sign(by, &json!({"alg": by.alg(), "kid": by.kid()}), claims)
    }

    /// A token that says of itself what `header` says, whatever it is signed with.
    pub(super) fn sign(&self, by: By, header: &Value, claims: &Value) -> String {
        let message = unsigned(header, claims);
        let signature = self.signature(by, message.as_bytes());
        format!("{message}.{}", b64(&signature))
    }

    fn signature(&self, by: By, message: &[u8]) -> Vec<u8> {
        let by_rsa = |encoding| {
            let mut signature = vec![0; self.rsa.public().modulus_len()];
            let signed = self
                .rsa
                .sign(encoding, &self.random, message, &mut signature);
            signed.expect("signed");
            signature
        };
        match by {
            By::Rs256 => by_rsa(&RSA_PKCS1_SHA256),
            By::Ps256 => by_rsa(&RSA_PSS_SHA256),
            By::Es256 => {
                let signed = self.ec.sign(&self.random, message);
                signed.expect("signed").as_ref().to_vec()
            }
            By::EdDsa => self.ed.sign(message).as_ref().to_vec(),
        }
    }
}

pub(super) fn now() -> WallTime {
    WallTime::from_unix_millis(NOW * 1_000)
}

/// What a good token says.
pub(in crate::gateway::auth) fn claims() -> Value {
    json!({
        "iss": NAME, "aud": AUDIENCE, "sub": "ann",
        "iat": NOW, "exp": NOW + 300, "scope": "skill:invoke",
    })
}

pub(super) fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |part: &Value| b64(part.to_string().as_bytes());
    format!("{}.{}", part(header), part(claims))
}

pub(super) fn b64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
