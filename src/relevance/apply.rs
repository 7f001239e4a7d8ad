//! Gives items the hints of a judge, and says how that went.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Candidate, Hint, Judge, Question, Verdict};
use crate::model::{ContextItem, ContextKind};

/// What became of a question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct RelevanceReport {
    /// The judge, by name.
    pub judge: String,
    /// Whether the question had words to go by. If not, nothing was changed.
    pub asked: bool,
    /// How many items have a hint of the judge.
    pub judged: usize,
    /// How many kept the hint that they came with.
    pub kept: usize,
    /// What the judge did wrong. What it gave no valid hint has none.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub problem: Option<String>,
}

/// What judging came to: the report, and the verdict if there is one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Judged {
    pub(crate) report: RelevanceReport,
    pub(crate) verdict: Option<Verdict>,
    /// The judge's share in the hint of an item that came with one.
    blend: f64,
}

impl Judged {
    /// Judges items, with the whole text of each, and gives them their hints.
    ///
    /// A hint that an item came with stays, or is mixed with `blend` of the judge's. A judge that
    /// panics costs its call the relevance and nothing else.
    pub(crate) fn of<'t>(
        judge: &dyn Judge,
        blend: f64,
        question: &Question,
        items: &mut [ContextItem],
        texts: impl Fn(usize) -> Option<&'t str>,
    ) -> Self {
        let verdict = {
            let mut candidates: Vec<Candidate<'_>> = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                let text = texts(index).unwrap_or_else(|| item.content());
                let place = is_said(item).then_some(index);
                candidates.push(Candidate { text, tokens: item.tokens(), place });
            }
            caught(|| judge.judge(question, &candidates))
        };
        let mut judged = Self { blend, ..Self::default() };
        judge.name().clone_into(&mut judged.report.judge);
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
            Err(problem) => self.report.problem = Some(problem),
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

/// Whether an item is a part of the conversation, so that its neighbours are about the same thing.
pub(crate) fn is_said(item: &ContextItem) -> bool {
    *item.kind() == ContextKind::message() || *item.kind() == ContextKind::tool_output()
}

/// Runs somebody else's code. What its panic says may quote a text, so it is not repeated.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| "panicked".to_owned())
}
