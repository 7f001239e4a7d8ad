//! Takes what is recalled, until relevance ends or the share is full.

use super::recall::LEAST;
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextKind, ExclusionReason, ScoredItem};
use crate::slicer::{BestFirstSlice, SliceResult, Slicer};

/// Fills from the best score down, and leaves out messages whose hint says that they have nothing to do
/// with the question. Results of tools, documents and what nobody has judged are taken while there is
/// room.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RecallSlice;

impl Slicer for RecallSlice {
    fn slice(
        &self,
        items: &[ScoredItem<'_>],
        budget: &ContextBudget,
    ) -> Result<SliceResult, CupelError> {
        let hint = |scored: &ScoredItem<'_>| {
            let is_message = *scored.item().kind() == ContextKind::message();
            scored.item().future_relevance_hint().filter(|_| is_message)
        };
        // What does not fit itself must not keep others out.
        let fits = |scored: &&ScoredItem<'_>| scored.item().tokens() <= budget.target_tokens();
        let best = items.iter().filter(fits).filter_map(hint).fold(0.0, f64::max);
        // Without a match the newest are recalled, and no hint of theirs is larger than this.
        let threshold = if best > LEAST { LEAST } else { 0.0 };
        let is_close = |scored: &ScoredItem<'_>| {
            hint(scored).is_none_or(|hint| hint > 0.0 && hint >= threshold)
        };
        let kept: Vec<usize> = items
            .iter()
            .enumerate()
            .filter_map(|(position, scored)| is_close(scored).then_some(position))
            .collect();
        let close: Vec<ScoredItem<'_>> =
            kept.iter().filter_map(|position| items.get(*position).copied()).collect();
        let mut sliced = SliceResult::default();
        sliced.absorb(BestFirstSlice.slice(&close, budget)?, &kept, "RecallSlice")?;
        let far = items.iter().enumerate().filter(|(_, scored)| !is_close(scored));
        sliced.exclusions.extend(far.map(|(position, scored)| {
            let score = scored.score();
            (position, ExclusionReason::ScoredTooLow { score, threshold })
        }));
        Ok(sliced)
    }
}
