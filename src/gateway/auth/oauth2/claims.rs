//! What a token says, held against what it has to say (RFC 7519, RFC 9068).
//!
//! Never: a signature; a token's claims are read once that holds.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{TokenFault, Vouched};
use crate::clock::WallTime;

/// How far the issuer's clock and ours may be apart, in seconds.
const LEEWAY_SECS: f64 = 60.0;
/// Longest `sub`, in bytes (RFC 7519 leaves it open, OpenID Connect says 255).
const SUBJECT_BYTES_MAX: usize = 255;

/// The claims that matter, as they came. One of a wrong form is a fault only where it is needed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Claims {
    iss: Value,
    sub: Value,
    aud: Value,
    exp: Value,
    nbf: Value,
    iat: Value,
    scope: Value,
    scp: Value,
}

/// One text or several, as JWT writes lists.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn into_texts(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts,
        }
    }
}

/// What a token has to say.
#[derive(Debug)]
pub(super) struct Expected<'e> {
    pub(super) issuer: &'e str,
    pub(super) audience: &'e str,
    pub(super) now: WallTime,
}

impl Claims {
    /// Whom it speaks for, if it is meant for us, and now.
    pub(super) fn check(self, expected: &Expected<'_>) -> Result<Vouched, TokenFault> {
        self.check_times(expected.now)?;
        if !same_issuer(&needed::<String>("iss", self.iss)?, expected.issuer) {
            return Err(TokenFault::OtherIssuer);
        }
        let audiences = needed::<OneOrMany>("aud", self.aud)?.into_texts();
        if !audiences.iter().any(|it| it == expected.audience) {
            return Err(TokenFault::OtherAudience);
        }
        Ok(Vouched {
            subject: subject(self.sub)?,
            scopes: scopes(self.scope, self.scp)?,
        })
    }

    fn check_times(&self, now: WallTime) -> Result<(), TokenFault> {
        #[expect(clippy::cast_precision_loss, reason = "seconds have 53 bits for ages")]
        let now = now.unix_millis() as f64 / 1_000.0;
        let expires = needed::<f64>("exp", self.exp.clone())?;
        if now >= expires + LEEWAY_SECS {
            return Err(TokenFault::Expired);
        }
        for (name, begins) in [("nbf", &self.nbf), ("iat", &self.iat)] {
            let begins = given::<f64>(name, begins.clone())?;
            if begins.is_some_and(|begins| begins > now + LEEWAY_SECS) {
                return Err(TokenFault::NotYet);
            }
        }
        Ok(())
    }
}

/// Whether they are the same, letter by letter. The configuration keeps no slash at the end, with
/// which some issuers write their name.
pub(super) fn same_issuer(told: &str, configured: &str) -> bool {
    told.strip_suffix('/').unwrap_or(told) == configured
}

fn subject(sub: Value) -> Result<Box<str>, TokenFault> {
    let subject = needed::<Box<str>>("sub", sub)?;
    let fits = (1..=SUBJECT_BYTES_MAX).contains(&subject.len());
    let clean = !subject.chars().any(char::is_control);
    (fits && clean)
        .then_some(subject)
        .ok_or(TokenFault::Claim("sub"))
}

/// `scope` is a text with spaces (RFC 8693); `scp`, which some issuers write instead, also a list.
fn scopes(scope: Value, scp: Value) -> Result<Box<[Box<str>]>, TokenFault> {
    let scope = given::<String>("scope", scope)?;
    let scp = given::<OneOrMany>("scp", scp)?.map(OneOrMany::into_texts);
    let texts = scope.into_iter().chain(scp.into_iter().flatten());
    let each = texts.flat_map(|text| {
        let words = text.split(' ').filter(|word| !word.is_empty());
        words.map(Box::from).collect::<Vec<_>>()
    });
    Ok(each.collect())
}

fn given<T: DeserializeOwned>(name: &'static str, value: Value) -> Result<Option<T>, TokenFault> {
    serde_json::from_value(value).map_err(|_| TokenFault::Claim(name))
}

fn needed<T: DeserializeOwned>(name: &'static str, value: Value) -> Result<T, TokenFault> {
    given(name, value)?.ok_or(TokenFault::Claim(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: u64 = 1_800_000_000;

    /// A good token's claims, with `change` laid over them.
    fn check(change: Value) -> Result<Vouched, TokenFault> {
        let mut claims = json!({
            "iss": "https://issuer.example/a", "aud": "gateway", "sub": "ann",
            "exp": NOW + 300, "scope": "skill:invoke",
        });
        for (name, value) in change.as_object().expect("an object") {
            claims[name] = value.clone();
        }
        let claims: Claims = serde_json::from_value(claims).expect("claims");
        claims.check(&Expected {
            issuer: "https://issuer.example/a",
            audience: "gateway",
            now: WallTime::from_unix_millis(NOW * 1_000),
        })
    }

    #[test]
    fn a_token_speaks_for_its_subject_and_allows_its_scopes() {
        for (change, scopes) in [
            (json!({}), &["skill:invoke"][..]),
            (json!({"scope": "a  b", "scp": null}), &["a", "b"]),
            (json!({"scope": null, "scp": ["a", "b"]}), &["a", "b"]),
            (json!({"scope": null, "scp": "a b"}), &["a", "b"]),
            (json!({"scope": null}), &[]),
            (json!({"aud": ["other", "gateway"], "scope": "a"}), &["a"]),
            (
                json!({"iss": "https://issuer.example/a/", "scope": "a"}),
                &["a"],
            ),
        ] {
            let vouched = check(change.clone()).expect("good");
            let told: Vec<&str> = vouched.scopes.iter().map(|it| &**it).collect();
            assert_eq!((&*vouched.subject, &*told), ("ann", scopes), "{change}");
        }
    }

    #[test]
    fn times_are_held_with_a_minute_of_leeway() {
        for (change, verdict) in [
            (json!({"exp": NOW - 59}), Ok(())),
            (json!({"exp": NOW - 60}), Err(TokenFault::Expired)),
            (json!({"exp": NOW as f64 - 59.5}), Ok(())),
            (json!({"exp": -1}), Err(TokenFault::Expired)),
            (json!({"nbf": NOW + 60, "iat": NOW + 60}), Ok(())),
            (json!({"nbf": NOW + 61}), Err(TokenFault::NotYet)),
            (json!({"iat": NOW + 61}), Err(TokenFault::NotYet)),
        ] {
            assert_eq!(check(change.clone()).map(|_| ()), verdict, "{change}");
        }
    }

    #[test]
    fn what_is_missing_or_of_another_form_or_for_others_is_refused() {
        let long = "a".repeat(SUBJECT_BYTES_MAX + 1);
        for (change, fault) in [
            (json!({"exp": null}), TokenFault::Claim("exp")),
            (json!({"exp": "1800000300"}), TokenFault::Claim("exp")),
            (json!({"nbf": "now"}), TokenFault::Claim("nbf")),
            (json!({"iss": null}), TokenFault::Claim("iss")),
            (
                json!({"iss": ["https://issuer.example/a"]}),
                TokenFault::Claim("iss"),
            ),
            (
                json!({"iss": "https://issuer.example/b"}),
                TokenFault::OtherIssuer,
            ),
            (
                json!({"iss": "https://issuer.example/a//"}),
                TokenFault::OtherIssuer,
            ),
            (
                json!({"iss": "https://issuer.example"}),
                TokenFault::OtherIssuer,
            ),
            (json!({"aud": null}), TokenFault::Claim("aud")),
            (json!({"aud": "gateways"}), TokenFault::OtherAudience),
            (json!({"aud": []}), TokenFault::OtherAudience),
            (json!({"sub": null}), TokenFault::Claim("sub")),
            (json!({"sub": ""}), TokenFault::Claim("sub")),
            (json!({"sub": "a\nb"}), TokenFault::Claim("sub")),
            (json!({"sub": long}), TokenFault::Claim("sub")),
            (json!({"scope": ["a"]}), TokenFault::Claim("scope")),
            (json!({"scp": 7}), TokenFault::Claim("scp")),
        ] {
            assert_eq!(check(change.clone()), Err(fault), "{change}");
        }
    }
}
