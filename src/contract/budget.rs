//! What a request may spend, and what it spent: model requests, tokens, money, descendants.
//!
//! A limit that is absent does not limit. A parent gives each child a slice of what it has left and
//! gets back what the child did not use, so that a whole tree never spends more than its root may.

use std::{fmt, ops::AddAssign, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{ErrorCode, ResultError};

/// Money, in millionths of the unit in which the price table counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub u64);

impl fmt::Display for Micros {
    /// In whole units, with six decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// Digits behind the point that an amount can have.
const DECIMALS_MAX: usize = 6;

/// A text that is no amount of money.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an amount such as 2 or 0.25, with at most {DECIMALS_MAX} decimals, got {0:?}")]
pub struct InvalidMicros(String);

impl FromStr for Micros {
    type Err = InvalidMicros;

    /// In whole units, with at most six decimals; exactly.
    fn from_str(raw: &str) -> Result<Self, InvalidMicros> {
        let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
        let read = || {
            let (units, decimals) = raw.split_once('.').unwrap_or((raw, "0"));
            if !is_number(units) || !is_number(decimals) || decimals.len() > DECIMALS_MAX {
                return None;
            }
            let units: u64 = units.parse().ok()?;
            let micros = format!("{decimals:0<DECIMALS_MAX$}").parse().ok()?;
            units.checked_mul(1_000_000)?.checked_add(micros)
        };
        read()
            .map(Self)
            .ok_or_else(|| InvalidMicros(raw.to_owned()))
    }
}

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Calls to models, failed ones included.
    #[serde(skip_serializing_if = "is_zero")]
    pub requests: u64,
    /// Tokens, of prompts and of answers.
    #[serde(skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// Money; nothing for a model that has no price.
    #[serde(skip_serializing_if = "costs_nothing")]
    pub cost: Micros,
    /// Requests below it.
    #[serde(skip_serializing_if = "is_zero")]
    pub descendants: u64,
}

/// What may be spent at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Calls to models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Micros>,
    /// Requests below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub descendants: Option<u64>,
}

/// What there is a limit for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Good {
    /// Calls to models.
    Requests,
    /// Tokens.
    Tokens,
    /// Money.
    Cost,
    /// Requests below.
    Descendants,
}

impl fmt::Display for Good {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Requests => "model requests",
            Self::Tokens => "tokens",
            Self::Cost => "money",
            Self::Descendants => "descendants",
        })
    }
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the budget of {good} is used up: {reached} of {limit}")]
pub struct Exhausted {
    /// Which.
    pub good: Good,
    /// How far it was used, with what is asked for now.
    pub reached: u64,
    /// How far it may be.
    pub limit: u64,
}

impl From<Exhausted> for ResultError {
    /// `BUDGET_EXHAUSTED`, with `details` `{"good", "reached", "limit"}`.
    fn from(exhausted: Exhausted) -> Self {
        Self::new(ErrorCode::BudgetExhausted, exhausted.to_string())
            .with("good", exhausted.good.to_string())
            .with("reached", exhausted.reached)
            .with("limit", exhausted.limit)
    }
}

impl Limits {
    /// Whether `spent` is within every limit.
    ///
    /// # Errors
    /// The first limit that it exceeds.
    pub fn hold(&self, spent: &Spent) -> Result<(), Exhausted> {
        for (good, limit, reached) in [
            (Good::Requests, self.requests, spent.requests),
            (Good::Tokens, self.tokens, spent.tokens),
            (Good::Cost, self.cost.map(|it| it.0), spent.cost.0),
            (Good::Descendants, self.descendants, spent.descendants),
        ] {
            if let Some(limit) = limit.filter(|limit| reached > *limit) {
                return Err(Exhausted {
                    good,
                    reached,
                    limit,
                });
            }
        }
        Ok(())
    }

    /// What is left of it after `spent`.
    #[must_use]
    pub fn after(&self, spent: &Spent) -> Self {
        let left = |limit: Option<u64>, spent: u64| limit.map(|it| it.saturating_sub(spent));
        Self {
            requests: left(self.requests, spent.requests),
            tokens: left(self.tokens, spent.tokens),
            cost: left(self.cost.map(|it| it.0), spent.cost.0).map(Micros),
            descendants: left(self.descendants, spent.descendants),
        }
    }

    /// One of `shares` equal parts of it, rounded down.
    #[must_use]
    pub fn share(&self, shares: u64) -> Self {
        let part = |limit: Option<u64>| limit.map(|it| it / shares.max(1));
        Self {
            requests: part(self.requests),
            tokens: part(self.tokens),
            cost: part(self.cost.map(|it| it.0)).map(Micros),
            descendants: part(self.descendants),
        }
    }

    /// Its own limits, and those of `other` where it has none.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self {
            requests: self.requests.or(other.requests),
            tokens: self.tokens.or(other.tokens),
            cost: self.cost.or(other.cost),
            descendants: self.descendants.or(other.descendants),
        }
    }

    /// The tighter of both, limit by limit.
    #[must_use]
    pub fn within(&self, other: &Self) -> Self {
        fn tighter<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            match (one, other) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            }
        }
        Self {
            requests: tighter(self.requests, other.requests),
            tokens: tighter(self.tokens, other.tokens),
            cost: tighter(self.cost, other.cost),
            descendants: tighter(self.descendants, other.descendants),
        }
    }

    /// The same as something that is spent once it was given away; what has no limit counts as
    /// nothing.
    #[must_use]
    pub fn as_spent(&self) -> Spent {
        Spent {
            requests: self.requests.unwrap_or(0),
            tokens: self.tokens.unwrap_or(0),
            cost: self.cost.unwrap_or_default(),
            descendants: self.descendants.unwrap_or(0),
        }
    }
}

impl Spent {
    /// What is left of it without `part`; never less than nothing.
    #[must_use]
    pub const fn without(&self, part: &Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(part.requests),
            tokens: self.tokens.saturating_sub(part.tokens),
            cost: Micros(self.cost.0.saturating_sub(part.cost.0)),
            descendants: self.descendants.saturating_sub(part.descendants),
        }
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, more: Self) {
        self.requests = self.requests.saturating_add(more.requests);
        self.tokens = self.tokens.saturating_add(more.tokens);
        self.cost = Micros(self.cost.0.saturating_add(more.cost.0));
        self.descendants = self.descendants.saturating_add(more.descendants);
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
const fn costs_nothing(cost: &Micros) -> bool {
    cost.0 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        requests: Some(12),
        tokens: None,
        cost: Some(Micros(5_000_000)),
        descendants: Some(256),
    };

    #[test]
    fn the_first_limit_that_is_exceeded_is_named_with_what_was_reached() {
        let mut spent = Spent {
            requests: 12,
            tokens: 1_000_000,
            ..Spent::default()
        };
        assert_eq!(LIMITS.hold(&spent), Ok(()));
        spent += Spent {
            requests: 1,
            ..Spent::default()
        };
        let exhausted = LIMITS.hold(&spent).unwrap_err();
        assert_eq!((exhausted.good, exhausted.reached), (Good::Requests, 13));
        let said = exhausted.to_string();
        assert!(said.contains("13 of 12"), "{said}");
    }

    #[test]
    fn money_is_read_as_it_is_shown_and_exactly() {
        for (raw, micros) in [
            ("0", 0),
            ("2", 2_000_000),
            ("0.25", 250_000),
            ("1.000001", 1_000_001),
        ] {
            assert_eq!(raw.parse(), Ok(Micros(micros)), "{raw}");
            assert_eq!(Micros(micros).to_string().parse(), Ok(Micros(micros)));
        }
        let beyond = u64::MAX.to_string();
        for raw in [
            "",
            ".",
            "1.",
            ".5",
            "-1",
            "1e3",
            "0.1234567",
            "1,5",
            " 1",
            "NaN",
            &beyond,
        ] {
            assert!(raw.parse::<Micros>().is_err(), "{raw:?}");
        }
    }

    #[test]
    fn slices_of_what_is_left_never_exceed_it() {
        let spent = Spent {
            requests: 5,
            descendants: 300,
            ..Spent::default()
        };
        let left = LIMITS.after(&spent);
        assert_eq!((left.requests, left.descendants), (Some(7), Some(0)));
        let slice = left.share(3);
        assert_eq!((slice.requests, slice.tokens), (Some(2), None));
        assert_eq!(
            slice.cost.map(|it| it.to_string()).as_deref(),
            Some("1.666666")
        );
        let asked = Limits {
            requests: Some(100),
            tokens: Some(10),
            ..Limits::default()
        };
        let given = asked.within(&left);
        assert_eq!((given.requests, given.tokens), (Some(7), Some(10)));
    }
}
