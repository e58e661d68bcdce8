//! `[budget]`: what one request may use, with all that is delegated from it.

use std::{fmt, num::NonZeroU32};

use serde::{Deserialize, Deserializer, de};

use super::Keys;
use crate::{
    contract::{Limits, Micros, Violation},
    handler::agent::StepLimits,
    policy::FindingCode,
    puruto::spec::Kind,
};

/// The keys of the table, as they stand there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(in crate::puruto) struct BudgetTable {
    steps: Option<NonZeroU32>,
    requests: Option<NonZeroU32>,
    model_requests: Option<u64>,
    tokens: Option<u64>,
    #[serde(deserialize_with = "cost")]
    cost: Option<Micros>,
    descendants: Option<u64>,
}

impl Keys<'_> {
    /// What a request may use, and how far an agent may go with it.
    pub(super) fn budget(&mut self, kind: Option<Kind>) -> (Limits, StepLimits) {
        let table = self.take::<BudgetTable>("budget").unwrap_or_default();
        for (key, given) in [("steps", table.steps), ("requests", table.requests)] {
            if given.is_some() && matches!(kind, Some(Kind::Chat | Kind::Command)) {
                let expected = format!("no {key} unless kind is \"agent\"");
                let why = Violation::new(format!("budget.{key}"), expected, "one");
                self.error(FindingCode::InvalidWorkerConfig, &why);
            }
        }
        let usual = StepLimits::default();
        let limits = Limits {
            requests: table.model_requests,
            tokens: table.tokens,
            cost: table.cost,
            descendants: table.descendants,
        };
        let steps = StepLimits {
            steps: table.steps.map_or(usual.steps, NonZeroU32::get),
            requests: table.requests.map_or(usual.requests, NonZeroU32::get),
        };
        (limits, steps)
    }
}

/// Money as people write it: `"0.25"`, `0.25` or `2`.
fn cost<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Micros>, D::Error> {
    from.deserialize_any(Cost).map(Some)
}

struct Cost;

impl Cost {
    fn parse<E: de::Error>(text: &str) -> Result<Micros, E> {
        text.parse().map_err(E::custom)
    }
}

impl de::Visitor<'_> for Cost {
    type Value = Micros;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an amount of money such as 0.25")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Micros, E> {
        Self::parse(text)
    }

    fn visit_i64<E: de::Error>(self, whole: i64) -> Result<Micros, E> {
        Self::parse(&whole.to_string())
    }

    /// The digits that were written: the shortest that mean this number.
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Micros, E> {
        Self::parse(&number.to_string())
    }
}
