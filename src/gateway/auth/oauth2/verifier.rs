//! Signatures, checked by ring, which is there for TLS anyway.
//!
//! Never: one made. This process holds no key that could sign.

use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey,
    crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils},
    errors::{ErrorKind, Result},
    signature::{Error as SignatureError, Verifier},
};
use ring::{error::Unspecified, signature as by_ring};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: no_signer,
    verifier_factory: verifier,
    // What these compute is needed to publish keys, not to check with them.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes ring what [`jsonwebtoken`] checks with in this process.
pub(super) fn install() {
    // Whoever came first has installed the same: no other provider is built in.
    PROVIDER.install_default().ok();
}

fn no_signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    Err(ErrorKind::UnsupportedAlgorithm.into())
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    let fits = match (algorithm, key.family()) {
        (Algorithm::RS256 | Algorithm::PS256, family) => family == AlgorithmFamily::Rsa,
        (Algorithm::ES256, family) => family == AlgorithmFamily::Ec,
        (Algorithm::EdDSA, family) => family == AlgorithmFamily::Ed,
        _ => false,
    };
    if !fits {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    Ok(Box::new(ByRing {
        algorithm: *algorithm,
        key: key.clone(),
    }))
}

struct ByRing {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl JwtVerifier for ByRing {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for ByRing {
    fn verify(
        &self,
        message: &[u8],
        signature: &Vec<u8>,
    ) -> std::result::Result<(), SignatureError> {
        use DecodingKeyKind::{RsaModulusExponent, SecretOrDer};
        let point = |algorithm: &'static dyn by_ring::VerificationAlgorithm, point: &[u8]| {
            by_ring::UnparsedPublicKey::new(algorithm, point).verify(message, signature)
        };
        let modulus = |algorithm, n, e| {
            by_ring::RsaPublicKeyComponents { n, e }.verify(algorithm, message, signature)
        };
        let checked = match (self.algorithm, self.key.kind()) {
            (Algorithm::RS256, RsaModulusExponent { n, e }) => {
                modulus(&by_ring::RSA_PKCS1_2048_8192_SHA256, n, e)
            }
            (Algorithm::PS256, RsaModulusExponent { n, e }) => {
                modulus(&by_ring::RSA_PSS_2048_8192_SHA256, n, e)
            }
            (Algorithm::ES256, SecretOrDer(key)) => point(&by_ring::ECDSA_P256_SHA256_FIXED, key),
            (Algorithm::EdDSA, SecretOrDer(key)) => point(&by_ring::ED25519, key),
            _ => Err(Unspecified),
        };
        checked.map_err(|Unspecified| SignatureError::new())
    }
}
