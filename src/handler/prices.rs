//! What models cost: a table of prices, and the cost of one answer by it.
//!
//! Never: a price that the table does not name; an unknown model costs nothing.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    contract::Micros,
    runtime::{ModelName, Usage},
};

/// For so many tokens prices are told.
const TOKENS: u128 = 1_000_000;

/// The highest price for a million tokens, a million units: far above what any model costs.
const PRICE_MAX: Micros = Micros(1_000_000_000_000);

/// Most models in a table.
const MODELS_MAX: usize = 1_000;

/// What a million tokens of one model cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Price {
    prompt: Micros,
    completion: Micros,
}

/// What models cost, by their names. Clones share the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prices(Arc<BTreeMap<Box<str>, Price>>);

/// An entry that is no price of a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPrice {
    /// It has another form.
    #[error("{0:?} is no {form}", form = Prices::EXPECTED)]
    Form(String),
    /// The model has a price already.
    #[error("{0} has two prices")]
    Twice(ModelName),
    /// More than anybody could have meant.
    #[error("more than {MODELS_MAX} models")]
    TooMany,
}

impl Prices {
    /// What an entry of the table looks like.
    pub const EXPECTED: &'static str =
        "model=prompt/completion, prices of a million tokens such as gpt-5-mini=0.25/2";

    /// Reads a table, an entry each, as [`Prices::EXPECTED`] says.
    ///
    /// # Errors
    /// The first entry that is none, or that names a model again.
    pub fn read<'e>(entries: impl IntoIterator<Item = &'e str>) -> Result<Self, InvalidPrice> {
        let mut prices = BTreeMap::new();
        for entry in entries {
            let (model, price) = entry_of(entry)?;
            if prices.insert(model.as_str().into(), price).is_some() {
                return Err(InvalidPrice::Twice(model));
            }
            if prices.len() > MODELS_MAX {
                return Err(InvalidPrice::TooMany);
            }
        }
        Ok(Self(Arc::new(prices)))
    }

    /// What an answer of `model` cost that consumed `usage`, rounded up; nothing for a model that
    /// has no price. Tokens that a provider counts in its total alone are those of hidden thinking,
    /// at the price of an answer.
    #[must_use]
    pub fn cost(&self, model: &ModelName, usage: &Usage) -> Micros {
        let Some(price) = self.price(model.as_str()) else {
            return Micros::default();
        };
        let hidden = usage.total_tokens.saturating_sub(usage.prompt_tokens);
        let completion = usage.completion_tokens.max(hidden);
        let part = |tokens: u64, price: Micros| u128::from(tokens) * u128::from(price.0);
        let cost = part(usage.prompt_tokens, price.prompt) + part(completion, price.completion);
        Micros(u64::try_from(cost.div_ceil(TOKENS)).unwrap_or(u64::MAX))
    }

    /// The price of the model itself, else of the one of which it is a dated version: providers
    /// answer `gpt-5-mini` as `gpt-5-mini-2025-08-07`.
    fn price(&self, model: &str) -> Option<&Price> {
        self.0.get(model).or_else(|| self.0.get(undated(model)?))
    }
}

/// The name without the date at its end: `-2025-08-07`, `-20250807` or `-0807`. None without one.
fn undated(model: &str) -> Option<&str> {
    let dash = model.match_indices('-').find(|(at, _)| {
        let rest = model.get(at + 1..).unwrap_or_default();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let is_date = rest.bytes().all(|it| it.is_ascii_digit() || it == b'-');
        is_date && matches!(digits, 4 | 8)
    })?;
    model.get(..dash.0)
}

fn entry_of(entry: &str) -> Result<(ModelName, Price), InvalidPrice> {
    let parts = || {
        let (model, price) = entry.rsplit_once('=')?;
        let (prompt, completion) = price.split_once('/')?;
        let price = Price {
            prompt: price_of(prompt)?,
            completion: price_of(completion)?,
        };
        Some((model.trim().parse().ok()?, price))
    };
    parts().ok_or_else(|| InvalidPrice::Form(entry.trim().to_owned()))
}

fn price_of(text: &str) -> Option<Micros> {
    let price = text.trim().parse().ok();
    price.filter(|price| *price <= PRICE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(prices: &Prices, model: &str, usage: [u64; 3]) -> u64 {
        let [prompt_tokens, completion_tokens, total_tokens] = usage;
        let usage = Usage {
            prompt_tokens,
            completion_tokens,
            total_tokens,
        };
        prices.cost(&model.parse().unwrap(), &usage).0
    }

    #[test]
    fn an_answer_costs_what_its_tokens_cost_rounded_up() {
        let prices = Prices::read(["m=0.15/0.60", "free=0/0", "a=b=2.5/10"]).unwrap();
        assert_eq!(
            cost(&prices, "m", [1_000_000, 1_000_000, 2_000_000]),
            750_000
        );
        // 0.15 + 0.6 millionths are one.
        assert_eq!(cost(&prices, "m", [1, 1, 2]), 1);
        assert_eq!(cost(&prices, "m", [10, 0, 10]), 2);
        assert_eq!(cost(&prices, "m", [0, 0, 0]), 0);
        assert_eq!(cost(&prices, "a=b", [4, 1, 5]), 20);
        for without in ["free", "other", "m-mini"] {
            assert_eq!(cost(&prices, without, [9, 9, 18]), 0, "{without}");
        }
    }

    #[test]
    fn hidden_thinking_costs_as_much_as_an_answer() {
        let prices = Prices::read(["m=1/10"]).unwrap();
        assert_eq!(cost(&prices, "m", [100, 20, 150]), 600);
        // A total that is less than its parts changes nothing.
        assert_eq!(cost(&prices, "m", [100, 20, 1]), 300);
    }

    #[test]
    fn a_dated_version_costs_what_its_model_costs() {
        let prices = Prices::read(["gpt-5=1/1", "gpt-5-mini=2/2", "gpt-5-0613=3/3"]).unwrap();
        for (model, per_token) in [
            ("gpt-5-2025-08-07", 1),
            ("gpt-5-20250807", 1),
            ("gpt-5-mini-2025-08-07", 2),
            ("gpt-5-0613", 3),
            ("gpt-5-0707", 1),
            ("gpt-5-nano", 0),
            ("gpt-5-32k", 0),
            ("gpt-5-nano-2025-08-07", 0),
        ] {
            assert_eq!(cost(&prices, model, [1, 0, 1]), per_token, "{model}");
        }
    }

    #[test]
    fn a_cost_beyond_all_numbers_is_the_largest() {
        let prices = Prices::read(["m=1000000/1000000"]).unwrap();
        let [many, more] = [u64::MAX / 2, u64::MAX];
        assert_eq!(cost(&prices, "m", [many, many, more]), u64::MAX);
    }

    #[test]
    fn what_is_no_price_is_named() {
        for entry in [
            "",
            "m",
            "m=",
            "m=1",
            "m=1/",
            "=1/1",
            "m=-1/1",
            "m=1/1e3",
            "m=0.1234567/1",
            "m=./1",
            "m=1./1",
            "m=1000001/1",
            "m=1/2/3",
            "m=1,5/2",
        ] {
            let refused = Prices::read([entry]).unwrap_err();
            assert_eq!(refused, InvalidPrice::Form(entry.to_owned()));
        }
        let twice = Prices::read(["m=1/1", " m = 2/2"]).unwrap_err();
        assert_eq!(twice.to_string(), "m has two prices");
    }
}
