//! Stage 5: what fits the effective budget.

use super::observe::Observer;
use super::rank::{Ranked, saturated};
use crate::diagnostics::{PipelineStage, TraceCollector};
use crate::error::CupelError;
use crate::model::ContextBudget;
use crate::slicer::Sliced;

/// A slicer with the items it is to choose from.
pub(super) type SliceFn<'f> = dyn Fn(&ContextBudget) -> Result<Sliced, CupelError> + 'f;

/// Lets the slicer choose and explains what it left out. The answer is in the slicer's order: which
/// of the sorted items, by number.
pub(super) fn slice<C: TraceCollector + ?Sized>(
    slice: &SliceFn<'_>,
    slicer: &str,
    ranked: &Ranked<'_>,
    budget: &ContextBudget,
    observer: &mut Observer<'_, C>,
) -> Result<Vec<usize>, CupelError> {
    const STAGE: PipelineStage = PipelineStage::Slice;
    let sorted = &ranked.sorted;
    let running = observer.enter(STAGE, sorted.len());
    let effective = budget.effective(saturated(ranked.classified.pinned_tokens));
    let sliced = slice(&effective)?;

    let chosen = mark(slicer, &sliced.indices, sorted.len())?;
    if observer.wants_items() {
        let selected = sliced.indices.iter().filter_map(|&index| sorted.get(index));
        let used = selected.fold(0_i64, |sum, s| sum.saturating_add(s.tokens()));
        let available = effective.target_tokens().saturating_sub(used);
        let mut own_reasons = sliced.exclusions;
        own_reasons.sort_by_key(|(position, _)| *position);
        let mut own_reasons = own_reasons.into_iter().peekable();
        let explain = ranked.classified.explain(budget);
        for (position, (scored, chosen)) in sorted.iter().zip(&chosen).enumerate() {
            let mut reason = None;
            while let Some((_, own)) = own_reasons.next_if(|(at, _)| *at <= position) {
                reason = Some(own);
            }
            if !chosen {
                let reason = reason.unwrap_or_else(|| explain.why_not(scored.tokens(), available));
                observer.excluded(&STAGE, *scored, reason);
            }
        }
        observer.shortfalls(sliced.shortfalls);
    }
    let note = (!sliced.notes.is_empty()).then(|| sliced.notes.join("; "));
    observer.leave_with(running, sliced.indices.len(), note);
    Ok(sliced.indices)
}

/// Turns the answer of a slicer or a placer into flags, and checks it on the way.
pub(super) fn mark(
    component: &str,
    indices: &[usize],
    len: usize,
) -> Result<Vec<bool>, CupelError> {
    let mut chosen = vec![false; len];
    for &index in indices {
        let flag =
            chosen.get_mut(index).ok_or_else(|| CupelError::out_of_range(component, index, len))?;
        if std::mem::replace(flag, true) {
            let problem = format!("answered with position {index} twice; each may appear once");
            return Err(CupelError::contract(component, problem));
        }
    }
    Ok(chosen)
}
