//! How many wrong tokens are looked at: a few from one network, so that whoever guesses locks out
//! nobody else, and some more from all of them together.

use std::{collections::HashMap, net::IpAddr, time::Duration};

use crate::{clock::WallTime, gateway::auth::network};

/// Wrong tokens of one network that are looked at in one [`COUNTED_FOR`]: nobody types that fast.
const NETWORK_MAX: u32 = 10;

/// The same of all networks together; of a token of 128 bits that is nothing, and this many are
/// told apart at most.
const ALL_MAX: u32 = 200;

/// How long they are counted from the first one on; all of them are forgotten then.
const COUNTED_FOR: Duration = Duration::from_secs(60);

/// Wrong tokens lately.
#[derive(Debug, Default)]
pub(super) struct Guesses {
    since: Option<WallTime>,
    all: u32,
    by_network: HashMap<IpAddr, u32>,
}

impl Guesses {
    /// For how long no token from there is looked at, if any time.
    pub(super) fn locked_for(&mut self, peer: IpAddr, now: WallTime) -> Option<Duration> {
        let left = COUNTED_FOR.saturating_sub(now.since(self.since?));
        if left.is_zero() {
            *self = Self::default();
            return None;
        }
        let own = self.by_network.get(&network(peer)).copied();
        let too_many = self.all >= ALL_MAX || own.is_some_and(|own| own >= NETWORK_MAX);
        too_many.then_some(left)
    }

    /// Counts a wrong one.
    pub(super) fn note(&mut self, peer: IpAddr, now: WallTime) {
        self.since.get_or_insert(now);
        self.all += 1;
        *self.by_network.entry(network(peer)).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: WallTime = WallTime::from_unix_millis(1_000_000);

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn later(seconds: u64) -> WallTime {
        START.saturating_add(Duration::from_secs(seconds))
    }

    /// Guesses from there until it is locked; how often that was.
    fn guessed(guesses: &mut Guesses, peer: IpAddr) -> u32 {
        let mut looked_at = 0;
        while guesses.locked_for(peer, START).is_none() {
            guesses.note(peer, START);
            looked_at += 1;
        }
        looked_at
    }

    #[test]
    fn whoever_guesses_locks_out_its_own_network_alone_and_for_a_while() {
        let mut guesses = Guesses::default();
        assert_eq!(guessed(&mut guesses, ip("2001:db8::1")), NETWORK_MAX);
        assert!(guesses.locked_for(ip("2001:db8::2"), START).is_some());
        assert_eq!(guesses.locked_for(ip("192.0.2.1"), START), None);
        let left = guesses.locked_for(ip("2001:db8::1"), later(20));
        assert_eq!(left, Some(Duration::from_secs(40)));
        assert_eq!(guesses.locked_for(ip("2001:db8::1"), later(60)), None);
    }

    #[test]
    fn many_networks_together_have_a_bound_too_and_no_more_are_remembered() {
        let mut guesses = Guesses::default();
        let networks = (0..1_000_u32).map(|it| IpAddr::from(it.to_be_bytes()));
        let looked_at: u32 = networks.map(|it| guessed(&mut guesses, it)).sum();
        assert_eq!(looked_at, ALL_MAX);
        assert!(guesses.by_network.len() <= ALL_MAX as usize);
        assert!(guesses.locked_for(ip("192.0.2.1"), START).is_some());
        assert_eq!(guesses.locked_for(ip("192.0.2.1"), later(60)), None);
        assert!(guesses.by_network.is_empty());
    }
}
