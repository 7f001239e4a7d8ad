//! Stages 1 to 4: pinned and invalid items, scores, duplicates, and the order that the scores give.

use std::borrow::Cow;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::observe::Observer;
use crate::diagnostics::{ExclusionReason, PipelineStage};
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem, ScoredItem, by_score_descending, descending_key};
use crate::scorer::Scorer;

/// The candidates, partitioned by position; the caller's order is kept within each part.
pub(super) struct ClassifiedItems<'a> {
    /// All candidates, which the positions point into.
    pub(super) items: &'a [ContextItem],
    pub(super) pinned: Vec<u32>,
    /// Wide enough for any number of items: a sum that is cut off would seem to fit.
    pub(super) pinned_tokens: i128,
    pub(super) scoreable: Vec<u32>,
    /// The scoreable items as scorers want them: the caller's own list when that is all of it.
    pub(super) scoreable_items: Cow<'a, [ContextItem]>,
}

/// Result of the first four stages, which do not depend on the budget.
pub(crate) struct RankedItems<'a> {
    pub(super) classified: ClassifiedItems<'a>,
    /// Scored, unique, by score from the highest down.
    pub(super) sorted: Vec<ScoredItem<'a>>,
    /// Position of each of them among all candidates.
    pub(super) positions: Vec<u32>,
}

impl<'a> RankedItems<'a> {
    pub(crate) fn pinned_tokens(&self) -> i128 {
        self.classified.pinned_tokens
    }

    /// Items that a slicer chooses from.
    pub(crate) fn sorted(&self) -> &[ScoredItem<'a>] {
        &self.sorted
    }
}

/// Positions are counted in 32 bits.
pub(super) fn check_count(items: &[ContextItem]) -> Result<(), CupelError> {
    let most = u32::MAX as usize - 1;
    if items.len() > most {
        return Err(CupelError::PipelineConfig(format!(
            "at most {most} items can be selected from, got {}",
            items.len()
        )));
    }
    Ok(())
}

/// Partitions `items`.
pub(super) fn classify<'a>(
    items: &'a [ContextItem],
    observer: &mut Observer<'_>,
) -> ClassifiedItems<'a> {
    const STAGE: PipelineStage = PipelineStage::Classify;
    let running = observer.enter(STAGE, items.len());
    let mut pinned = Vec::new();
    let mut pinned_tokens = 0_i128;
    let mut scoreable = Vec::with_capacity(items.len());
    for (position, item) in (0..).zip(items) {
        let tokens = item.tokens();
        if tokens < 0 {
            if observer.wants_items() {
                let reason = ExclusionReason::NegativeTokens { tokens };
                observer.excluded(&STAGE, ScoredItem::new(item, 0.0), reason);
            }
        } else if item.pinned() {
            pinned.push(position);
            pinned_tokens += i128::from(tokens);
        } else {
            scoreable.push(position);
        }
    }
    let scoreable_items = if scoreable.len() == items.len() {
        Cow::Borrowed(items)
    } else {
        let item = |position: &u32| items.get(*position as usize).cloned();
        scoreable.iter().filter_map(item).collect()
    };
    let classified = ClassifiedItems { items, pinned, pinned_tokens, scoreable, scoreable_items };
    observer.leave(running, classified.pinned.len() + classified.scoreable.len());
    classified
}

impl<'a> ClassifiedItems<'a> {
    pub(super) fn item(&self, position: u32) -> Option<&'a ContextItem> {
        self.items.get(position as usize)
    }

    /// Explains why items do not fit beside the pinned ones.
    pub(super) fn explain(&self, budget: &ContextBudget) -> Explain<'a> {
        let first_pinned = self.pinned.first().and_then(|position| self.item(*position));
        Explain::new(budget, saturated(self.pinned_tokens), first_pinned)
    }

    /// Fails when the pinned items alone exceed what the budget has for context.
    pub(super) fn check_pinned(&self, budget: &ContextBudget) -> Result<(), CupelError> {
        let available_tokens = budget.available_tokens();
        if self.pinned_tokens > i128::from(available_tokens) {
            return Err(CupelError::PinnedExceedsBudget {
                pinned_tokens: saturated(self.pinned_tokens),
                available_tokens,
            });
        }
        Ok(())
    }
}

/// The number of tokens, at most [`i64::MAX`].
pub(super) fn saturated(tokens: i128) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

/// Stages 2 to 4, which do not depend on the budget.
pub(super) fn rank<'a>(
    scorer: &dyn Scorer,
    deduplication: bool,
    classified: ClassifiedItems<'a>,
    observer: &mut Observer<'_>,
) -> RankedItems<'a> {
    let scores = score(scorer, &classified, observer);
    let duplicates = deduplicate(&classified.scoreable_items, &scores, deduplication, observer);
    let (sorted, positions) = sort(&classified, &scores, &duplicates);
    RankedItems { classified, sorted, positions }
}

/// Stage 2: the score of every scoreable item, in the caller's order.
fn score(
    scorer: &dyn Scorer,
    classified: &ClassifiedItems<'_>,
    observer: &mut Observer<'_>,
) -> Vec<f64> {
    let items = &*classified.scoreable_items;
    let running = observer.enter(PipelineStage::Score, items.len());
    // Scores and their explanations are read off one clock.
    let frozen = observer.wants_score_parts().then(|| scorer.freeze()).flatten();
    let scorer = frozen.as_deref().unwrap_or(scorer);
    let mut scores = vec![0.0; items.len()];
    if !items.is_empty() {
        scorer.score_all(items, &mut scores);
        observer.explain(scorer, items, &scores);
    }
    observer.scored(&scores);
    observer.leave(running, scores.len());
    scores
}

/// Stage 4: by score from the highest down, equal scores in their given order; the items with
/// their scores, and their positions among all candidates.
///
/// `duplicates` marks the scoreable items that lose to another item of equal content.
fn sort<'a>(
    classified: &ClassifiedItems<'a>,
    scores: &[f64],
    duplicates: &[bool],
) -> (Vec<ScoredItem<'a>>, Vec<u32>) {
    let scoreable = &classified.scoreable;
    let mut sorted = Vec::with_capacity(scoreable.len());
    let mut positions = Vec::with_capacity(scoreable.len());
    for place in by_score_descending(scores.iter().copied()) {
        let place = place as usize;
        if let (Some(&position), Some(score), None | Some(false)) =
            (scoreable.get(place), scores.get(place), duplicates.get(place))
        {
            if let Some(item) = classified.item(position) {
                sorted.push(ScoredItem::new(item, *score));
                positions.push(position);
            }
        }
    }
    (sorted, positions)
}

/// Stage 3: marks the duplicates that lose to another item; empty if disabled.
fn deduplicate(
    scoreable: &[ContextItem],
    scores: &[f64],
    enabled: bool,
    observer: &mut Observer<'_>,
) -> Vec<bool> {
    const STAGE: PipelineStage = PipelineStage::Deduplicate;
    let running = observer.enter(STAGE, scoreable.len());
    let marks = if enabled { duplicates(scoreable, scores) } else { Vec::new() };
    let marked =
        scoreable.iter().zip(scores).zip(&marks).filter(|(_, is_duplicate)| **is_duplicate);
    if observer.wants_items() {
        for ((item, score), _) in marked.clone() {
            // The content is the survivor's as much as this item's.
            let reason =
                ExclusionReason::Deduplicated { deduplicated_against: item.shared_content() };
            observer.excluded(&STAGE, ScoredItem::new(item, *score), reason);
        }
    }
    observer.leave(running, scoreable.len() - marked.count());
    marks
}

fn duplicates(scoreable: &[ContextItem], scores: &[f64]) -> Vec<bool> {
    let hash_of =
        |position: &u32| scoreable.get(*position as usize).map_or(0, ContextItem::content_hash);
    let score_of = |position: u32| scores.get(position as usize).copied().unwrap_or(f64::NAN);
    let mut best: HashTable<u32> = HashTable::with_capacity(scoreable.len());
    let mut marks = vec![false; scoreable.len()];
    for (position, challenger) in (0_u32..).zip(scoreable) {
        let hash = challenger.content_hash();
        let same_content = |other: &u32| {
            hash_of(other) == hash
                && scoreable
                    .get(*other as usize)
                    .is_some_and(|other| other.content() == challenger.content())
        };
        match best.entry(hash, same_content, hash_of) {
            Entry::Vacant(entry) => {
                entry.insert(position);
            }
            Entry::Occupied(mut entry) => {
                let holder = descending_key(score_of(*entry.get()));
                // Equal scores leave the place to the earlier item.
                let wins = descending_key(score_of(position)) < holder;
                let loser =
                    if wins { std::mem::replace(entry.get_mut(), position) } else { position };
                if let Some(mark) = marks.get_mut(loser as usize) {
                    *mark = true;
                }
            }
        }
    }
    marks
}

/// Gives the reason why an item does not fit: a full budget, or one that pinned items have used up.
pub(crate) struct Explain<'a> {
    target: i64,
    target_without_pins: i64,
    first_pinned: Option<&'a ContextItem>,
}

impl<'a> Explain<'a> {
    pub(crate) fn new(
        budget: &ContextBudget,
        pinned_tokens: i64,
        first_pinned: Option<&'a ContextItem>,
    ) -> Self {
        Self {
            target: budget.effective(pinned_tokens).target_tokens(),
            target_without_pins: budget.effective(0).target_tokens(),
            first_pinned,
        }
    }

    /// The effective target.
    pub(crate) fn target(&self) -> i64 {
        self.target
    }

    pub(crate) fn why_not(&self, item_tokens: i64, available_tokens: i64) -> ExclusionReason {
        let only_for_pins = item_tokens > self.target && item_tokens <= self.target_without_pins;
        match self.first_pinned {
            Some(pinned) if only_for_pins => {
                ExclusionReason::PinnedOverride { displaced_by: pinned.shared_content() }
            }
            _ => ExclusionReason::BudgetExceeded { item_tokens, available_tokens },
        }
    }
}
