//! Tokens of the configured OAuth 2.0 issuer: bearer tokens that are JWTs (RFC 9068), signed.
//!
//! Never: a token that is taken on its own word. The key decides which algorithm checks it, and
//! keys come from the configured issuer alone.

mod claims;
mod fetch;
mod keeper;
mod key;
mod verifier;

use std::collections::HashSet;

use jsonwebtoken::{Validation, decode, decode_header, errors::ErrorKind};

pub use self::fetch::FetchFault;
use self::{
    claims::Claims,
    fetch::HttpSource,
    keeper::{Keeper, LiveSigningKeys},
    key::SigningKey,
};
use crate::{
    clock::WallTime,
    config::{GatewayConfig, HttpUrl},
    gateway::auth::Scope,
};

/// What keeps an issuer's keys current while it runs.
pub(super) type IssuerKeeper = Keeper<HttpSource>;

/// The issuer whose tokens are taken.
#[derive(Clone, Debug)]
pub(super) struct Issuer {
    name: HttpUrl,
    audience: Box<str>,
    keys: LiveSigningKeys,
    /// Longest token that is looked at, in bytes.
    token_max: usize,
}

/// Who a token speaks for, and what it allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Vouched {
    pub(super) subject: Box<str>,
    pub(super) scopes: Box<[Box<str>]>,
}

impl Vouched {
    pub(super) fn allows(&self, scope: &Scope) -> bool {
        self.scopes.iter().any(|it| **it == *scope.as_str())
    }
}

/// Why a token is not taken. None says anything that only its issuer may know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TokenFault {
    #[error(
        "it is longer than {0} bytes, half of gateway.max_head: have its issuer put less into it, or allow more there"
    )]
    TooLong(usize),
    #[error("it is no signed JWT with an algorithm that is taken here")]
    Malformed,
    #[error("its issuer has no such key")]
    UnknownKey,
    #[error("its key is for another algorithm")]
    OtherAlgorithm,
    #[error("its signature is not that of its issuer")]
    Signature,
    #[error("its claim `{0}` is missing or of the wrong form")]
    Claim(&'static str),
    #[error("it has expired")]
    Expired,
    #[error("it is not good yet")]
    NotYet,
    #[error("it is another issuer's")]
    OtherIssuer,
    #[error("it is meant for somebody else")]
    OtherAudience,
    /// Not the token's fault.
    #[error("the issuer's keys cannot be had")]
    NoKeys,
}

impl Issuer {
    /// The issuer in `config`, if it names one, and what keeps its keys current.
    ///
    /// # Errors
    /// An address at which others could hand out keys of their own.
    pub(super) fn of(config: &GatewayConfig) -> Result<Option<(Self, IssuerKeeper)>, FetchFault> {
        let (Some(name), Some(audience)) = (&config.oauth_issuer, &config.oauth_audience) else {
            return Ok(None);
        };
        let source = HttpSource::new(name.clone(), config.oauth_jwks_url.clone())?;
        let (keeper, keys) = Keeper::of(source);
        // What else a head holds has the other half, so that a token too long is told so.
        let token_max = usize::try_from(config.max_head.get() / 2).unwrap_or(usize::MAX);
        let issuer = Self {
            name: name.clone(),
            audience: audience.as_str().into(),
            keys,
            token_max,
        };
        Ok(Some((issuer, keeper)))
    }

    /// The issuer's name, as it is configured.
    pub(super) fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Whom `token` speaks for, if it is good at `now`. Waits for the issuer only when the token
    /// names a key that was never seen.
    pub(super) async fn check(&self, token: &str, now: WallTime) -> Result<Vouched, TokenFault> {
        if token.len() > self.token_max {
            return Err(TokenFault::TooLong(self.token_max));
        }
        let header = decode_header(token).map_err(|_| TokenFault::Malformed)?;
        let kid = header.kid.as_deref();
        let keys = self.keys.knowing(kid).await.ok_or(TokenFault::NoKeys)?;
        let claims = opened(token, keys.find(kid, header.alg)?)?;
        let expected = claims::Expected {
            issuer: self.name(),
            audience: &self.audience,
            now,
        };
        claims.check(&expected)
    }
}

/// The claims of `token`, once its signature holds; what they say is not checked yet.
fn opened(token: &str, key: &SigningKey) -> Result<Claims, TokenFault> {
    verifier::install();
    let signature_only = Validation {
        algorithms: key.algorithms().to_vec(),
        required_spec_claims: HashSet::new(),
        validate_exp: false,
        validate_aud: false,
        ..Validation::default()
    };
    let opened = decode(token, key.decoding_key(), &signature_only);
    opened
        .map(|it| it.claims)
        .map_err(|error| match error.kind() {
            ErrorKind::InvalidSignature => TokenFault::Signature,
            ErrorKind::InvalidAlgorithm => TokenFault::OtherAlgorithm,
            _ => TokenFault::Malformed,
        })
}

#[cfg(test)]
pub(super) mod test_issuer;
#[cfg(test)]
mod tests;
