//! Distribution of the upstreams' own counts over ours, for each model.

use std::collections::BTreeMap;

use serde::Serialize;

/// Most models with a ratio. Clients choose the names, so there is a limit.
const MODELS: usize = 256;

/// For each model, its count of a request divided by ours, in hundredths, with the number of calls.
#[derive(Debug, Default)]
pub(crate) struct CountRatios(BTreeMap<String, BTreeMap<i64, u64>>);

/// Distribution of a model's counts over ours.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RatioSummary {
    model: String,
    calls: u64,
    median: f64,
    /// Ratio that 99 of 100 calls stay below. As the model's factor it would have counted them high enough.
    factor: f64,
    most: f64,
}

impl CountRatios {
    pub(crate) fn add(&mut self, model: &str, ours: i64, theirs: i64) {
        if ours <= 0 || (self.0.len() >= MODELS && !self.0.contains_key(model)) {
            return;
        }
        // Rounded up: a factor that is too low breaks a request.
        let hundredths = theirs.max(0).saturating_mul(100).saturating_add(ours - 1) / ours;
        let calls = self.0.entry(model.to_owned()).or_default();
        *calls.entry(hundredths.clamp(10, 1_000)).or_default() += 1;
    }

    pub(crate) fn list(&self) -> Vec<RatioSummary> {
        self.0.iter().map(|(model, ratios)| RatioSummary::of(model, ratios)).collect()
    }
}

impl RatioSummary {
    fn of(model: &str, ratios: &BTreeMap<i64, u64>) -> Self {
        let calls: u64 = ratios.values().sum();
        let at = |percent: u64| {
            let wanted = (calls * percent).div_ceil(100).max(1);
            let mut seen = 0;
            let found = ratios.iter().find(|(_, count)| {
                seen += **count;
                seen >= wanted
            });
            #[expect(clippy::cast_precision_loss, reason = "at most 1,000")]
            found.map_or(1.0, |(hundredths, _)| *hundredths as f64 / 100.0)
        };
        Self { model: model.to_owned(), calls, median: at(50), factor: at(99), most: at(100) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_counts_is_set_beside_our_count() {
        let mut factors = CountRatios::default();
        factors.add("m", 100, 110);
        factors.add("m", 100, 130);
        for _ in 0..98 {
            factors.add("m", 1_000, 1_101);
        }
        let summary = RatioSummary {
            model: "m".to_owned(),
            calls: 100,
            median: 1.11,
            factor: 1.11,
            most: 1.3,
        };
        assert_eq!(factors.list(), [summary]);
        for index in 0..1_000 {
            factors.add(&index.to_string(), 100, 100);
        }
        assert!(factors.list().len() <= 256);
    }
}
