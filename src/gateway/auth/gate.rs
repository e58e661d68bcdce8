//! Who is let in: a request's credentials, held against what is asked for.
//!
//! Never: the same answer's wording for another reason than the caller can do something about.

use std::time::Duration;

use axum::http::HeaderName;

use super::{
    keys::{self, KeyMistakes, KeySet, KeysReloader, LiveKeys},
    oauth2::{FetchFault, Issuer, IssuerKeeper, TokenFault, Vouched},
    presented::{Presented, Shown, Unclear},
    refusal::{Challenge, Refusal},
    scheme::{AuthScheme, KEY_HEADER, Scope},
};
use crate::{clock::Clock, config::GatewayConfig, contract::PurutoName, gateway::Principal};

/// Longest key that is looked at, in bytes.
const KEY_BYTES_MAX: usize = 512;
/// When to ask again while the issuer is away.
const ISSUER_RETRY: Duration = Duration::from_secs(30);

/// Lets callers in, or says why not; cheap to clone.
#[derive(Clone, Debug)]
pub struct Gate {
    keys: LiveKeys,
    issuer: Option<Issuer>,
    clock: Clock,
}

/// Keeps a [`Gate`]'s keys and its issuer's current, for as long as [`Upkeep::run`] runs.
#[derive(Debug)]
pub struct Upkeep {
    keys: KeysReloader,
    issuer: Option<IssuerKeeper>,
}

/// Why there is no gate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotOpen {
    /// The file of keys.
    #[error("{0}")]
    Keys(#[from] KeyMistakes),
    /// The issuer.
    #[error("gateway.oauth_issuer, gateway.oauth_jwks_url: {0}")]
    Issuer(#[from] FetchFault),
}

/// What a proven caller needs to be allowed.
#[derive(Clone, Copy)]
enum Wanted<'w> {
    /// Nothing but to be known.
    Identity,
    Skill(&'w str, Option<&'w Scope>),
    Target(&'w PurutoName),
}

impl Upkeep {
    /// Runs until it is dropped.
    pub async fn run(self) {
        match self.issuer {
            Some(issuer) => {
                futures_util::future::join(self.keys.run(), issuer.run()).await;
            }
            None => self.keys.run().await,
        }
    }
}

impl Gate {
    /// With the keys and the issuer that `config` names, and what keeps both current.
    ///
    /// # Errors
    /// A file of keys with mistakes, or an issuer whose keys could be anybody's.
    pub fn open(config: &GatewayConfig, clock: Clock) -> Result<(Self, Upkeep), CannotOpen> {
        let start = KeySet::load(&config.keys_file)?;
        let (keys, reloader) = keys::watch(&config.keys_file, start);
        let (issuer, keeper) = Issuer::of(config)?.unzip();
        let upkeep = Upkeep {
            keys: reloader,
            issuer: keeper,
        };
        let gate = Self {
            keys,
            issuer,
            clock,
        };
        Ok((gate, upkeep))
    }

    /// Whether there is an issuer whose tokens are taken.
    #[must_use]
    pub const fn takes_tokens(&self) -> bool {
        self.issuer.is_some()
    }

    /// Who asks, where nothing needs to be allowed: nobody in particular when nothing is shown.
    ///
    /// # Errors
    /// What is shown is not good.
    pub async fn identify(&self, presented: &Presented<'_>) -> Result<Principal, Refusal> {
        match self.shown(presented, None)? {
            Shown::Nothing => Ok(Principal::Anonymous),
            Shown::Key(key) => self.key(key, &KEY_HEADER, Wanted::Identity),
            Shown::Token(token) => self.token(token, Wanted::Identity).await,
        }
    }

    /// Who asks, where nothing needs to be allowed but that has to be somebody.
    ///
    /// # Errors
    /// Nothing is shown, or it is not good.
    pub async fn prove(&self, presented: &Presented<'_>) -> Result<Principal, Refusal> {
        match self.identify(presented).await? {
            Principal::Anonymous => Err(nothing_shown()),
            known => Ok(known),
        }
    }

    /// Who asks for `skill`, if that is shown as its `scheme` wants and allowed.
    ///
    /// # Errors
    /// Nothing that the scheme wants is shown, or it is not good, or does not allow this.
    pub async fn admit(
        &self,
        scheme: &AuthScheme,
        presented: &Presented<'_>,
        skill: &str,
    ) -> Result<Principal, Refusal> {
        match scheme {
            AuthScheme::None => self.identify(presented).await,
            AuthScheme::ApiKey { header } => match self.shown(presented, Some(header))? {
                Shown::Key(key) if presented.has_key_in(header) => {
                    self.key(key, header, Wanted::Skill(skill, None))
                }
                _ => {
                    let why = format!("this skill asks for a key: send it in the header {header}");
                    Err(Refusal::auth_required(why, &Challenge::Key(header)))
                }
            },
            AuthScheme::Oauth2 { scope } => match self.shown(presented, None)? {
                Shown::Token(token) => self.token(token, Wanted::Skill(skill, Some(scope))).await,
                _ => {
                    let why = "this skill asks for a token: send it as `Authorization: Bearer`";
                    Err(Refusal::auth_required(why, &Challenge::Token(scope)))
                }
            },
        }
    }

    /// Who asks `target` itself, without a skill: a key that is good for it, or a token with the
    /// scope that skills ask for by default.
    ///
    /// # Errors
    /// Nothing is shown, or it is not good, or does not allow this.
    pub async fn admit_to(
        &self,
        target: &PurutoName,
        presented: &Presented<'_>,
    ) -> Result<Principal, Refusal> {
        match self.shown(presented, None)? {
            Shown::Key(key) => self.key(key, &KEY_HEADER, Wanted::Target(target)),
            Shown::Token(token) => self.token(token, Wanted::Target(target)).await,
            Shown::Nothing => Err(nothing_shown()),
        }
    }

    fn shown<'p>(
        &self,
        presented: &Presented<'p>,
        wanted: Option<&HeaderName>,
    ) -> Result<Shown<'p>, Refusal> {
        let header = wanted.unwrap_or(&KEY_HEADER);
        let challenge = Challenge::Either(header);
        let unclear = |unclear: Unclear| Refusal::auth_required(unclear, &challenge);
        presented.shown(wanted).map_err(unclear)
    }

    fn key(
        &self,
        presented: &str,
        header: &HeaderName,
        wanted: Wanted<'_>,
    ) -> Result<Principal, Refusal> {
        let keys = self.keys.current();
        let found = match presented.len() {
            0..=KEY_BYTES_MAX => keys.find(presented, self.clock.now()),
            _ => None,
        };
        let Some(key) = found else {
            // One that has expired is as good as one that never was.
            let challenge = Challenge::Key(header);
            return Err(Refusal::auth_required("this key is not good", &challenge));
        };
        let name = key.name();
        match wanted {
            Wanted::Skill(skill, _) if !key.skills().cover(skill) => Err(Refusal::denied(
                format_args!("the key `{name}` is not good for the skill {skill:?}"),
            )),
            Wanted::Target(target) if !key.targets().cover(target.as_str()) => Err(
                Refusal::denied(format_args!("the key `{name}` is not good for `{target}`")),
            ),
            Wanted::Identity | Wanted::Skill(..) | Wanted::Target(_) => {
                Ok(Principal::Key(name.as_str().into()))
            }
        }
    }

    async fn token(&self, token: &str, wanted: Wanted<'_>) -> Result<Principal, Refusal> {
        let Some(issuer) = &self.issuer else {
            // As good as an issuer that cannot be reached, but for good.
            return Err(refused_token("no issuer is configured here"));
        };
        let vouched = match issuer.check(token, self.clock.now()).await {
            Ok(vouched) => vouched,
            Err(TokenFault::NoKeys) => return Err(issuer_away()),
            Err(fault) => return Err(refused_token(&fault.to_string())),
        };
        let scope = match wanted {
            Wanted::Identity => None,
            Wanted::Skill(_, scope) => scope.cloned(),
            Wanted::Target(_) => Some(Scope::default()),
        };
        if let Some(scope) = scope.filter(|scope| !vouched.allows(scope)) {
            return Err(Refusal::Denied {
                why: format!("the token does not have the scope `{}`", scope.as_str()),
                challenge: Some(Challenge::MoreScope(&scope).value()),
            });
        }
        let Vouched { subject, .. } = vouched;
        Ok(Principal::Subject {
            issuer: issuer.name().into(),
            subject,
        })
    }
}

fn nothing_shown() -> Refusal {
    let why = format!("send a key in the header {KEY_HEADER}, or a bearer token");
    Refusal::auth_required(why, &Challenge::Either(&KEY_HEADER))
}

fn refused_token(why: &str) -> Refusal {
    tracing::debug!(why, "a token is refused");
    Refusal::auth_required(
        format_args!("this token is not taken: {why}"),
        &Challenge::OtherToken(why),
    )
}

fn issuer_away() -> Refusal {
    Refusal::Unavailable {
        why: "no token can be checked at the moment: its issuer cannot be reached".to_owned(),
        retry_after: ISSUER_RETRY,
    }
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
