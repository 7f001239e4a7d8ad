//! Stage 5: what fits the effective budget.

use super::classify::Classified;
use super::observe::Observer;
use crate::diagnostics::{ExclusionReason, PipelineStage, TraceCollector};
use crate::error::CupelError;
use crate::model::{ContextBudget, ScoredItem};
use crate::slicer::Slicer;

/// Lets the slicer choose and explains what it left out; the result is in score order.
pub(super) fn slice<'a, C: TraceCollector + ?Sized>(
    slicer: &dyn Slicer,
    sorted: &[ScoredItem<'a>],
    budget: &ContextBudget,
    classified: &Classified<'a>,
    observer: &mut Observer<'_, C>,
) -> Result<Vec<ScoredItem<'a>>, CupelError> {
    const STAGE: PipelineStage = PipelineStage::Slice;
    let running = observer.enter(STAGE, sorted.len());
    let effective = budget.effective(classified.pinned_tokens);
    let sliced = slicer.slice(sorted, &effective)?;

    let chosen = mark(slicer, &sliced.indices, sorted.len())?;
    let selected: Vec<ScoredItem<'a>> = select(sorted, &chosen, true).collect();

    if observer.wants_items() {
        let used = selected.iter().fold(0_i64, |sum, s| sum.saturating_add(s.tokens()));
        let mut own_reasons = sliced.exclusions;
        own_reasons.sort_by_key(|(position, _)| *position);
        let mut own_reasons = own_reasons.into_iter().peekable();
        let explain = Explain::new(budget, &effective, classified);
        for (position, (scored, chosen)) in sorted.iter().zip(&chosen).enumerate() {
            let mut reason = None;
            while let Some((_, own)) = own_reasons.next_if(|(at, _)| *at <= position) {
                reason = Some(own);
            }
            if !chosen {
                let available = effective.target_tokens().saturating_sub(used);
                let reason = reason.unwrap_or_else(|| explain.why_not(scored.tokens(), available));
                observer.excluded(&STAGE, *scored, reason);
            }
        }
        observer.shortfalls(sliced.shortfalls);
    }
    observer.leave(running, selected.len());
    Ok(selected)
}

/// Turns a slicer's answer into flags, and checks it on the way.
fn mark(slicer: &dyn Slicer, indices: &[usize], len: usize) -> Result<Vec<bool>, CupelError> {
    let mut chosen = vec![false; len];
    for &index in indices {
        let flag = chosen
            .get_mut(index)
            .ok_or_else(|| CupelError::out_of_range(slicer.name(), index, len))?;
        if std::mem::replace(flag, true) {
            return Err(CupelError::named_twice(slicer.name(), index));
        }
    }
    Ok(chosen)
}

fn select<'s, 'a>(
    sorted: &'s [ScoredItem<'a>],
    chosen: &'s [bool],
    wanted: bool,
) -> impl Iterator<Item = ScoredItem<'a>> + use<'s, 'a> {
    let flagged = sorted.iter().zip(chosen);
    flagged.filter(move |(_, chosen)| **chosen == wanted).map(|(scored, _)| *scored)
}

/// Tells a full budget from one that pinned items have used up.
pub(super) struct Explain<'a> {
    target: i64,
    target_without_pins: i64,
    first_pinned: Option<&'a crate::model::ContextItem>,
}

impl<'a> Explain<'a> {
    pub(super) fn new(
        budget: &ContextBudget,
        effective: &ContextBudget,
        classified: &Classified<'a>,
    ) -> Self {
        Self {
            target: effective.target_tokens(),
            target_without_pins: budget.effective(0).target_tokens(),
            first_pinned: classified.pinned.first().copied(),
        }
    }

    pub(super) fn why_not(&self, item_tokens: i64, available_tokens: i64) -> ExclusionReason {
        let only_for_pins = item_tokens > self.target && item_tokens <= self.target_without_pins;
        match self.first_pinned {
            Some(pinned) if only_for_pins => {
                ExclusionReason::PinnedOverride { displaced_by: pinned.shared_content() }
            }
            _ => ExclusionReason::BudgetExceeded { item_tokens, available_tokens },
        }
    }
}
