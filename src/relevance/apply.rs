//! Gives items the hints of a judge, and reports the outcome.

use super::{Candidate, Hint, Verdict};
use crate::caught::caught;
use crate::model::ContextItem;

/// Effect of a question on a list of items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct RelevanceReport {
    /// The judge, by name.
    pub judge: String,
    /// True if the question had informative words. Otherwise nothing was changed.
    pub asked: bool,
    /// Number of items with a hint of the judge.
    pub judged: usize,
    /// Number of items that kept their own hint.
    pub kept: usize,
    /// Mistake of the judge. Items without a valid hint have none.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub problem: Option<String>,
}

/// Outcome of judging: the report, and the verdict if there is one.
#[derive(Debug, Clone, Default)]
pub(crate) struct JudgeOutcome {
    pub(crate) report: RelevanceReport,
    pub(crate) verdict: Option<Verdict>,
    /// The judge's share in the hint of an item that came with one.
    blend: f64,
}

impl JudgeOutcome {
    /// Gives items the hints of a verdict on them, one for each in their order.
    ///
    /// A hint that an item came with stays, or is mixed with `blend` of the judge's. A judge that
    /// failed costs its call the relevance and nothing else.
    pub(crate) fn of(
        judge: &str,
        blend: f64,
        verdict: Result<Option<Verdict>, String>,
        items: &mut [ContextItem],
    ) -> Self {
        let mut judged = Self { blend, ..Self::default() };
        judge.clone_into(&mut judged.report.judge);
        match verdict {
            Ok(Some(verdict)) if verdict.hints.len() == items.len() => {
                judged.report.asked = true;
                for (item, hint) in items.iter_mut().zip(&verdict.hints) {
                    judged.give(item, hint.clone());
                }
                judged.verdict = Some(verdict);
            }
            Ok(Some(verdict)) => {
                let (got, expected) = (verdict.hints.len(), items.len());
                let problem =
                    format!("gave {got} hints, expected one for each of {expected} items");
                judged.report.problem = Some(problem);
            }
            Ok(None) => {}
            Err(problem) => judged.report.problem = Some(problem),
        }
        judged
    }

    /// Judges an item that comes later, alone.
    pub(crate) fn further(&mut self, item: &mut ContextItem) {
        let Some(verdict) = &self.verdict else { return };
        let candidate = Candidate::new(item.content(), item.tokens());
        match caught(|| verdict.further(&candidate)) {
            Ok(hint) => self.give(item, hint),
            // Its message may quote a text, so it is not repeated.
            Err(_) => self.report.problem = Some("panicked".to_owned()),
        }
    }

    fn give(&mut self, item: &mut ContextItem, hint: Hint) {
        if !(0.0..=1.0).contains(&hint.value()) {
            let problem = format!("gave a hint of {}, expected a number from 0 to 1", hint.value());
            self.report.problem = Some(problem);
            return;
        }
        match item.future_relevance_hint() {
            Some(_) if self.blend == 0.0 => self.report.kept += 1,
            // What is no number has nothing to say.
            Some(own) if own.is_finite() => {
                self.report.judged += 1;
                let mixed = own * (1.0 - self.blend) + hint.value() * self.blend;
                item.set_hint(hint.with_value(mixed));
            }
            _ => {
                self.report.judged += 1;
                item.set_hint(hint);
            }
        }
    }
}
