//! Who may see the dashboard: whoever knows its token gets a session.
//!
//! A session is a signed date, so that a gateway remembers none of them and another one with the
//! same token takes it as well. A new token ends all of them.

use std::{
    fmt,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::hmac;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::guesses::Guesses;
use crate::clock::{Chance, Clock, WallTime};

/// How long a session lives.
pub(super) const SESSION_LIVES: Duration = Duration::from_secs(12 * 60 * 60);

/// Keeps signatures of sessions apart from whatever else might be signed with the token.
const PURPOSE: &[u8] = b"puruto dashboard session";

/// What one has to know to see the dashboard.
#[derive(Clone)]
pub struct Token(Box<str>);

impl Token {
    /// A token that somebody chose.
    #[must_use]
    pub fn chosen(text: &str) -> Self {
        Self(text.into())
    }

    /// A new one, of 128 bits.
    #[must_use]
    pub fn fresh(chance: &Chance) -> Self {
        Self(format!("{:032x}", chance.bits128()).into())
    }

    /// The token itself, for the address that is printed.
    #[must_use]
    pub const fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

/// Lets in whoever knows the token.
pub(super) struct Gate {
    /// Digests are compared, which have one length.
    token: [u8; 32],
    key: hmac::Key,
    clock: Clock,
    guesses: Mutex<Guesses>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gate")
    }
}

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// That is not the token.
    Wrong,
    /// There were too many wrong ones; none is looked at for so long.
    TooMany(Duration),
}

impl Gate {
    pub(super) fn new(token: &Token, clock: Clock) -> Self {
        let secret = Sha256::new()
            .chain_update(PURPOSE)
            .chain_update(token.0.as_bytes());
        Self {
            token: Sha256::digest(token.0.as_bytes()).into(),
            key: hmac::Key::new(hmac::HMAC_SHA256, &secret.finalize()),
            clock,
            guesses: Mutex::default(),
        }
    }

    /// A session for whoever knows the token.
    pub(super) fn enter(&self, token: &str, peer: IpAddr) -> Result<String, Refused> {
        let mut guesses = self.guesses.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        if let Some(left) = guesses.locked_for(peer, now) {
            return Err(Refused::TooMany(left));
        }
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if bool::from(digest.ct_eq(&self.token)) {
            return Ok(self.session(now.saturating_add(SESSION_LIVES)));
        }
        guesses.note(peer, now);
        Err(Refused::Wrong)
    }

    /// Until when this is a session; none where it is no session any more, or never was.
    pub(super) fn session_until(&self, session: &str) -> Option<WallTime> {
        let (until, signature) = session.split_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        hmac::verify(&self.key, until.as_bytes(), &signature).ok()?;
        let until = WallTime::from_unix_millis(until.parse().ok()?);
        (until > self.clock.now()).then_some(until)
    }

    fn session(&self, until: WallTime) -> String {
        let until = until.unix_millis().to_string();
        let signature = hmac::sign(&self.key, until.as_bytes());
        format!("{until}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

    fn gate(clock: &Clock) -> Gate {
        Gate::new(&Token::chosen("open sesame"), clock.clone())
    }

    fn clock() -> Clock {
        Clock::manual(WallTime::from_unix_millis(1_000_000))
    }

    #[test]
    fn whoever_knows_the_token_has_a_session_until_it_expires() {
        let clock = clock();
        let gate = gate(&clock);
        let session = gate.enter("open sesame", PEER).unwrap();
        assert!(gate.session_until(&session).is_some());
        clock.advance(SESSION_LIVES);
        assert_eq!(gate.session_until(&session), None);
    }

    #[test]
    fn a_session_that_was_changed_or_signed_elsewhere_is_none() {
        let clock = clock();
        let session = gate(&clock).enter("open sesame", PEER).unwrap();
        let (until, signature) = session.split_once('.').unwrap();
        let longer = format!("{until}0.{signature}");
        let other = Gate::new(&Token::chosen("another"), clock.clone());
        for forged in ["", ".", "1", until, longer.as_str(), &format!("{until}.")] {
            assert_eq!(gate(&clock).session_until(forged), None, "{forged}");
        }
        assert_eq!(other.session_until(&session), None);
    }

    #[test]
    fn another_gateway_with_the_same_token_takes_the_session() {
        let clock = clock();
        let session = gate(&clock).enter("open sesame", PEER).unwrap();
        assert!(gate(&clock).session_until(&session).is_some());
    }

    #[test]
    fn after_too_many_wrong_tokens_the_right_one_is_not_looked_at_either() {
        let gate = gate(&clock());
        while gate.enter("guess", PEER) == Err(Refused::Wrong) {}
        let refused = gate.enter("open sesame", PEER);
        assert!(matches!(refused, Err(Refused::TooMany(_))), "{refused:?}");
        let elsewhere = Ipv4Addr::new(192, 0, 2, 2).into();
        assert!(gate.enter("open sesame", elsewhere).is_ok());
    }
}
