//! Stage 1: pinned items, items to score, and items that are not valid.

use std::borrow::Cow;

use super::observe::Observer;
use crate::diagnostics::{ExclusionReason, PipelineStage, TraceCollector};
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem, ScoredItem};

/// The candidates, partitioned; the caller's order is kept within each part.
pub(super) struct Classified<'a> {
    pub(super) pinned: Vec<&'a ContextItem>,
    pub(super) pinned_tokens: i64,
    /// The items to score. The caller's own list when nothing had to be taken out of it.
    pub(super) scoreable: Cow<'a, [ContextItem]>,
    /// Where the scoreable items are in the caller's list; none when it is that list.
    scoreable_refs: Option<Vec<&'a ContextItem>>,
    items: &'a [ContextItem],
}

impl<'a> Classified<'a> {
    /// The scoreable items as references into the caller's list.
    pub(super) fn scoreable_refs(&self) -> impl Iterator<Item = &'a ContextItem> {
        let all = match &self.scoreable_refs {
            Some(_) => &[],
            None => self.items,
        };
        let some = self.scoreable_refs.iter().flatten().copied();
        all.iter().chain(some)
    }
}

/// Partitions `items`; fails when the pinned ones alone exceed the budget, if there is one.
pub(super) fn classify<'a, C: TraceCollector + ?Sized>(
    items: &'a [ContextItem],
    budget: Option<&ContextBudget>,
    observer: &mut Observer<'_, C>,
) -> Result<Classified<'a>, CupelError> {
    const STAGE: PipelineStage = PipelineStage::Classify;
    let running = observer.enter(STAGE, items.len());
    // Looking first costs one pass and saves copying the list when all of it is scoreable.
    let special = |item: &&ContextItem| item.tokens() < 0 || item.pinned();
    let classified = if items.iter().any(|item| special(&item)) {
        let (mut pinned, mut scoreable) = (Vec::new(), Vec::with_capacity(items.len()));
        for item in items {
            if item.tokens() < 0 {
                let reason = ExclusionReason::NegativeTokens { tokens: item.tokens() };
                observer.excluded(&STAGE, ScoredItem::new(item, 0.0), reason);
            } else if item.pinned() {
                pinned.push(item);
            } else {
                scoreable.push(item);
            }
        }
        Classified {
            pinned_tokens: pinned
                .iter()
                .fold(0, |sum: i64, item| sum.saturating_add(item.tokens())),
            pinned,
            scoreable: Cow::Owned(scoreable.iter().copied().cloned().collect()),
            scoreable_refs: Some(scoreable),
            items,
        }
    } else {
        Classified {
            pinned: Vec::new(),
            pinned_tokens: 0,
            scoreable: Cow::Borrowed(items),
            scoreable_refs: None,
            items,
        }
    };
    observer.leave(running, classified.pinned.len() + classified.scoreable.len());
    if let Some(budget) = budget {
        classified.check_pinned(budget)?;
    }
    Ok(classified)
}

impl Classified<'_> {
    /// Fails when the pinned items alone exceed what the budget has for context.
    pub(super) fn check_pinned(&self, budget: &ContextBudget) -> Result<(), CupelError> {
        let available_tokens = budget.max_tokens().saturating_sub(budget.output_reserve());
        if self.pinned_tokens > available_tokens {
            return Err(CupelError::PinnedExceedsBudget {
                pinned_tokens: self.pinned_tokens,
                available_tokens,
            });
        }
        Ok(())
    }
}
