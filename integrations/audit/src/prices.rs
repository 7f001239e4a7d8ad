//! Prices of models, in dollars for a million tokens.

use std::collections::BTreeMap;

/// Price of a model's input, in dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct InputPrice {
    /// A token that is not read from the cache.
    pub input: f64,
    /// A token that is read from the cache.
    pub cached: f64,
    /// A token that is written to the cache; `input` if writing is free.
    pub written: f64,
}

impl InputPrice {
    /// A price with these parts.
    ///
    /// ```
    /// use cupel_audit::InputPrice;
    ///
    /// // 1,000 new tokens, 9,000 from the cache.
    /// assert_eq!(InputPrice::new(2.5, 1.25, 2.5).dollars(1_000, 9_000, 0), 0.01375);
    /// ```
    #[must_use]
    pub const fn new(input: f64, cached: f64, written: f64) -> Self {
        Self { input, cached, written }
    }

    /// Dollars for so many tokens.
    #[must_use]
    pub fn dollars(&self, new: i64, cached: i64, written: i64) -> f64 {
        (new as f64 * self.input + cached as f64 * self.cached + written as f64 * self.written)
            / 1e6
    }
}

/// Prices by the beginning of a model's name. The longest one that fits counts.
///
/// ```
/// use cupel_audit::{InputPrice, PriceTable};
///
/// let prices = PriceTable::new().with("local-", InputPrice::new(0.0, 0.0, 0.0));
/// assert_eq!(prices.get("local-llama").unwrap().input, 0.0);
/// assert_eq!(prices.get("openai/gpt-4o-mini-2024-07-18").unwrap().input, 0.15);
/// assert!(prices.get("unheard-of").is_none());
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct PriceTable(BTreeMap<String, InputPrice>);

/// List prices. They change: a report says which ones it used, and every one can be replaced.
const LIST: [(&str, InputPrice); 20] = [
    ("gpt-4o", InputPrice::new(2.5, 1.25, 2.5)),
    ("gpt-4o-mini", InputPrice::new(0.15, 0.075, 0.15)),
    ("gpt-4.1", InputPrice::new(2.0, 0.5, 2.0)),
    ("gpt-4.1-mini", InputPrice::new(0.4, 0.1, 0.4)),
    ("gpt-4.1-nano", InputPrice::new(0.1, 0.025, 0.1)),
    ("gpt-5", InputPrice::new(1.25, 0.125, 1.25)),
    ("gpt-5-mini", InputPrice::new(0.25, 0.025, 0.25)),
    ("gpt-5-nano", InputPrice::new(0.05, 0.005, 0.05)),
    ("o3", InputPrice::new(2.0, 0.5, 2.0)),
    ("o4-mini", InputPrice::new(1.1, 0.275, 1.1)),
    ("claude-opus-4", InputPrice::new(15.0, 1.5, 18.75)),
    ("claude-opus-4-5", InputPrice::new(5.0, 0.5, 6.25)),
    ("claude-sonnet-4", InputPrice::new(3.0, 0.3, 3.75)),
    ("claude-haiku-4-5", InputPrice::new(1.0, 0.1, 1.25)),
    ("claude-3-7-sonnet", InputPrice::new(3.0, 0.3, 3.75)),
    ("claude-3-5-sonnet", InputPrice::new(3.0, 0.3, 3.75)),
    ("claude-3-5-haiku", InputPrice::new(0.8, 0.08, 1.0)),
    ("claude-3-opus", InputPrice::new(15.0, 1.5, 18.75)),
    ("claude-3-haiku", InputPrice::new(0.25, 0.03, 0.3)),
    ("gpt-4-turbo", InputPrice::new(10.0, 10.0, 10.0)),
];

impl Default for PriceTable {
    fn default() -> Self {
        Self(LIST.iter().map(|(model, price)| ((*model).to_owned(), *price)).collect())
    }
}

impl PriceTable {
    /// The list prices.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the price of the models whose names begin with this.
    pub fn with(mut self, model: impl Into<String>, price: InputPrice) -> Self {
        self.0.insert(model.into(), price);
        self
    }

    /// Price of a model, if there is one.
    #[must_use]
    pub fn get(&self, model: &str) -> Option<InputPrice> {
        let name = model.rsplit('/').next().unwrap_or(model);
        // `gpt-5.6` is no `gpt-5`.
        let fits = |prefix: &str| {
            let rest = name.strip_prefix(prefix)?;
            let is_end =
                prefix.ends_with('-') || rest.is_empty() || rest.starts_with(['-', '@', ':']);
            is_end.then_some(prefix.len())
        };
        let fitting = self.0.iter().filter_map(|(prefix, price)| Some((fits(prefix)?, price)));
        fitting.max_by_key(|(length, _)| *length).map(|(_, price)| *price)
    }
}
