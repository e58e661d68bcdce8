//! `[prices]`: what models cost.

use crate::{config::section::section, handler::Prices};

section! {
    /// What models cost.
    PricesConfig in "prices" {
        /// What a million tokens of each model cost, as `model=prompt/completion` in any one
        /// currency, at most six decimals: `["gpt-5-mini=0.25/2"]`. It counts for the dated
        /// versions of a model too, such as `gpt-5-mini-2025-08-07`, unless they have a price of
        /// their own. A model without a price costs nothing.
        models: Prices = "",
    }
}
