//! Draws what is asked: a pure function of the seed.

use std::time::Duration;

use super::{
    asks::{Ask, CLERK, MIRROR, NOBODY, PLANNER, RELAY, SCRIBE, TOOL, Twist, id},
    errand::{CHILDREN_MAX, Does, Errand, Turn, Waits},
    prompt::Takes,
};
use crate::{clock::Chance, contract::Lane};

/// How many requests a chain has.
const CHAIN: u64 = 10;
/// A time-out that ends while the request is still thought about.
const SHORT: Duration = Duration::from_secs(3);

/// Whether some of the requests ask others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delegation {
    /// A fifth of them.
    On,
    /// None.
    Off,
}

/// Draws requests, one after the other.
#[derive(Debug)]
pub(super) struct Draw {
    chance: Chance,
    /// The time-out of most.
    timeout: Duration,
    delegation: Delegation,
    next: u64,
}

impl Draw {
    pub(super) fn new(seed: u64, timeout: Duration, delegation: Delegation) -> Self {
        Self {
            // Not the draws of the schedule.
            chance: Chance::seeded(!seed),
            timeout,
            delegation,
            next: 0,
        }
    }

    fn below(&self, bound: u64) -> u64 {
        let drawn = self.chance.bits128() % u128::from(bound);
        u64::try_from(drawn).unwrap_or_default()
    }

    fn twist(&self) -> Twist {
        let soon = Duration::from_millis(self.below(600));
        match self.below(100) {
            0..7 => Twist::Cancelled(soon),
            7..12 => Twist::Twice(soon),
            12..15 => Twist::Contradicted(soon),
            15..17 => Twist::Forbidden,
            17..19 => Twist::Broken,
            19..21 => Twist::Expired,
            _ => Twist::None,
        }
    }

    /// The next one.
    pub(super) fn draw(&mut self) -> Ask {
        let number = self.next;
        self.next += 1;
        let delegates = self.delegation == Delegation::On && self.below(5) == 0;
        let (errand, twist) = if delegates {
            let twist = self.twist_of_many();
            (self.errand_of_many(twist), twist)
        } else {
            let twist = self.twist();
            (self.errand(twist), twist)
        };
        let lane = match self.below(10) {
            0 => Lane::High,
            1 => Lane::Low,
            _ => Lane::Normal,
        };
        Ask {
            request: id(format!("r-{number}")),
            correlation: id(format!("c-{}", number / CHAIN)),
            lane,
            timeout: match errand.takes {
                Takes::Ages => SHORT,
                Takes::Moments | Takes::Seconds => self.timeout,
            },
            errand,
            twist,
        }
    }

    fn errand(&self, twist: Twist) -> Errand {
        let takes = match self.below(100) {
            0..3 if twist == Twist::None => Takes::Ages,
            3..15 => Takes::Seconds,
            _ => Takes::Moments,
        };
        match self.below(100) {
            0..2 if twist == Twist::None && takes == Takes::Moments => Errand::plain(NOBODY, takes),
            _ => self.leaf(takes),
        }
    }

    fn leaf(&self, takes: Takes) -> Errand {
        let target = match self.below(100) {
            0..55 => CLERK,
            55..85 => SCRIBE,
            _ => TOOL,
        };
        Errand::plain(target, takes)
    }

    fn twist_of_many(&self) -> Twist {
        let soon = Duration::from_millis(self.below(1_500));
        match self.below(100) {
            0..20 => Twist::Cancelled(soon),
            20..30 => Twist::Forged(soon),
            30..35 => Twist::Twice(soon),
            _ => Twist::None,
        }
    }

    /// One for which others are asked.
    fn errand_of_many(&self, twist: Twist) -> Errand {
        // Only a cancel ends those in time.
        let slow = match twist {
            Twist::Cancelled(_) => Takes::Ages,
            _ => Takes::Seconds,
        };
        let brief = || self.leaf(Takes::Moments);
        match self.below(100) {
            0..35 => self.chain(1 + self.below(5), brief()),
            35..45 => self.chain(1 + self.below(3), self.leaf(slow)),
            45..60 => self.many(vec![brief(), brief(), self.leaf(slow)], Waits::All),
            60..70 => self.many(vec![self.leaf(slow), brief(), brief()], Waits::Any),
            70..78 => self.many(vec![brief(), self.leaf(slow), brief()], Waits::For(2)),
            78..84 => self.tree(),
            84..88 => self.relayed(vec![
                turn(vec![brief(), brief()], Waits::All),
                turn(vec![brief()], Waits::All),
            ]),
            88..91 => self.many(vec![brief(); CHILDREN_MAX + 1], Waits::All),
            91..94 => {
                let mut poor = self.many(vec![brief(), brief()], Waits::All);
                poor.allowance = Some(1);
                self.many(vec![poor, brief()], Waits::All)
            }
            94..97 => echo(Does::Echoes),
            _ => echo(Does::EchoesLouder),
        }
    }

    /// One that asks these at once, whoever it is.
    fn many(&self, children: Vec<Errand>, join: Waits) -> Errand {
        self.relayed(vec![turn(children, join)])
    }

    fn relayed(&self, turns: Vec<Turn>) -> Errand {
        let asker = match self.below(10) {
            0..4 => RELAY,
            4..6 => MIRROR,
            _ => PLANNER,
        };
        Errand {
            does: Does::Asks(turns),
            ..Errand::plain(asker, Takes::Moments)
        }
    }

    /// Askers that ask each other, down to `last`.
    fn chain(&self, relays: u64, last: Errand) -> Errand {
        (0..relays).fold(last, |child, _| self.many(vec![child], Waits::All))
    }

    /// Three branches of two, and one more below each.
    fn tree(&self) -> Errand {
        let branch = || {
            let twig = || self.many(vec![self.leaf(Takes::Moments)], Waits::All);
            self.many(vec![twig(), twig()], Waits::All)
        };
        self.many(vec![branch(), branch(), branch()], Waits::All)
    }
}

fn turn(children: Vec<Errand>, join: Waits) -> Turn {
    Turn { children, join }
}

fn echo(does: Does) -> Errand {
    Errand {
        does,
        ..Errand::plain(RELAY, Takes::Moments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::WallTime;

    #[test]
    fn a_seed_fixes_what_is_asked() {
        let drawn = |seed| {
            let mut draw = Draw::new(seed, Duration::from_secs(60), Delegation::On);
            let asks: Vec<_> = (0..200).map(|_| format!("{:?}", draw.draw())).collect();
            asks
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
    }

    #[test]
    fn who_wants_no_delegation_gets_none() {
        let foreseen = |delegation| {
            let mut draw = Draw::new(7, Duration::from_secs(60), delegation);
            (0..200).map(|_| draw.draw().foresee().len()).sum::<usize>()
        };
        assert_eq!(foreseen(Delegation::Off), 0);
        assert!(foreseen(Delegation::On) > 50);
    }

    #[test]
    fn a_contradiction_differs_from_what_it_contradicts_and_a_repetition_does_not() {
        let mut ask = Draw::new(1, Duration::from_secs(60), Delegation::Off).draw();
        let now = WallTime::from_unix_millis(1);
        ask.twist = Twist::Twice(Duration::ZERO);
        assert_eq!(ask.message(now).1, ask.again());
        ask.twist = Twist::Contradicted(Duration::ZERO);
        assert_ne!(ask.message(now).1, ask.again());
    }
}
