//! What each model's own count is of ours.

use std::collections::BTreeMap;

/// More models than anybody uses; names come from clients.
const MODELS: usize = 256;

/// Sums for each model: ours, the model's, and of how many calls.
#[derive(Debug, Default)]
pub(crate) struct Factors(BTreeMap<String, (f64, f64, u64)>);

impl Factors {
    #[expect(clippy::cast_precision_loss, reason = "a ratio needs no more")]
    pub(crate) fn add(&mut self, model: &str, ours: i64, theirs: i64) {
        if ours <= 0 || (self.0.len() >= MODELS && !self.0.contains_key(model)) {
            return;
        }
        let sums = self.0.entry(model.to_owned()).or_default();
        *sums = (sums.0 + ours as f64, sums.1 + theirs as f64, sums.2 + 1);
    }

    /// Each model with its factor and the number of calls it comes from.
    pub(crate) fn list(&self) -> Vec<(String, f64, u64)> {
        let factor =
            |(model, sums): (&String, &(f64, f64, u64))| (model.clone(), sums.1 / sums.0, sums.2);
        self.0.iter().map(factor).collect()
    }
}
