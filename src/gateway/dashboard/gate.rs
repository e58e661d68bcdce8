//! Who may see the dashboard: whoever knows its token gets a session.
//!
//! A session is a signed date, so that a gateway remembers none of them and another one with the
//! same token takes it as well. A new token ends all of them.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::hmac;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::clock::{Chance, Clock, WallTime};

/// How long a session lives.
pub(super) const SESSION_LIVES: Duration = Duration::from_secs(12 * 60 * 60);

/// Wrong tokens that are looked at in one [`ATTEMPTS_PER`]: nobody types that fast, and of a token
/// of 128 bits that is nothing.
const ATTEMPTS_MAX: u32 = 10;

/// See [`ATTEMPTS_MAX`].
const ATTEMPTS_PER: Duration = Duration::from_secs(60);

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
    wrong: Mutex<Wrong>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gate")
    }
}

/// Wrong tokens lately.
#[derive(Debug, Default)]
struct Wrong {
    since: Option<WallTime>,
    count: u32,
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
            wrong: Mutex::default(),
        }
    }

    /// A session for whoever knows the token.
    pub(super) fn enter(&self, token: &str) -> Result<String, Refused> {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        if let Some(left) = wrong.left(now) {
            return Err(Refused::TooMany(left));
        }
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if bool::from(digest.ct_eq(&self.token)) {
            return Ok(self.session(now.saturating_add(SESSION_LIVES)));
        }
        wrong.note(now);
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

impl Wrong {
    /// How long no token is looked at.
    fn left(&mut self, now: WallTime) -> Option<Duration> {
        let since = self.since?;
        let left = ATTEMPTS_PER.saturating_sub(now.since(since));
        if left.is_zero() {
            *self = Self::default();
        }
        (self.count >= ATTEMPTS_MAX).then_some(left)
    }

    fn note(&mut self, now: WallTime) {
        self.since.get_or_insert(now);
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let session = gate.enter("open sesame").unwrap();
        assert!(gate.session_until(&session).is_some());
        clock.advance(SESSION_LIVES);
        assert_eq!(gate.session_until(&session), None);
    }

    #[test]
    fn a_session_that_was_changed_or_signed_elsewhere_is_none() {
        let clock = clock();
        let session = gate(&clock).enter("open sesame").unwrap();
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
        let session = gate(&clock).enter("open sesame").unwrap();
        assert!(gate(&clock).session_until(&session).is_some());
    }

    #[test]
    fn after_too_many_wrong_tokens_none_is_looked_at_for_a_while() {
        let clock = clock();
        let gate = gate(&clock);
        for _ in 0..ATTEMPTS_MAX {
            assert_eq!(gate.enter("guess"), Err(Refused::Wrong));
        }
        clock.advance(Duration::from_secs(20));
        let left = Duration::from_secs(40);
        assert_eq!(gate.enter("open sesame"), Err(Refused::TooMany(left)));
        clock.advance(left);
        assert!(gate.enter("open sesame").is_ok());
    }
}
