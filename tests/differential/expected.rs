//! Result of a whole run by the specification, stage after stage.

use crate::items::Blueprint;
use crate::pipelines::{Overflow, PipelineCase};
use crate::support::slicers::{Row, by_score};
use crate::support::stages;

/// An item, its score, and the reason with its numbers as one text.
pub(crate) type Line = (i64, f64, String);

/// Implementation whose rules a run follows.
///
/// Every place that looks at this is a rule the published implementation has in another way; apart
/// from those, and from items with equal content, the cases of this test cannot tell them apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reading {
    /// The text, which the library follows.
    Text,
    /// The text as the published implementation has it.
    Published,
}

/// Reason why a run does not select.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Refusal {
    PinnedExceedsBudget { pinned: i64, available: i64 },
    Overflow { merged: i64, target: i64 },
    Ceiling { merged: i64, available: i64 },
    Slicer,
}

/// A run and its report.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Run {
    pub(crate) included: Vec<Line>,
    pub(crate) excluded: Vec<Line>,
    pub(crate) total_candidates: usize,
    pub(crate) total_tokens: i64,
    /// Kind in lower case, required, satisfied.
    pub(crate) shortfalls: Vec<(String, usize, usize)>,
}

impl Run {
    pub(crate) fn ids(&self) -> Vec<i64> {
        self.included.iter().map(|(id, ..)| *id).collect()
    }
}

/// An item with its score.
type Scored<'a> = (&'a Blueprint, f64);

/// The report so far, and what it needs to tell a full budget from one that pinned items used up.
struct Account {
    reading: Reading,
    excluded: Vec<Line>,
    effective_target: i64,
    target_without_pins: i64,
    first_pinned: Option<String>,
}

impl Account {
    fn no_room(&mut self, (item, score): Scored<'_>, available: i64) {
        let only_for_pins =
            item.tokens > self.effective_target && item.tokens <= self.target_without_pins;
        let reason = match &self.first_pinned {
            Some(pinned) if only_for_pins => format!("PinnedOverride by {pinned:?}"),
            _ => format!("BudgetExceeded {} of {available}", item.tokens),
        };
        self.excluded.push((item.id, score, reason));
    }

    fn truncated(&mut self, (item, score): Scored<'_>, available: i64) {
        match self.reading {
            Reading::Text => self.no_room((item, score), available),
            // PinnedOverride is for truncation in the first place. Published: only when slicing.
            Reading::Published => {
                let reason = format!("BudgetExceeded {} of {available}", item.tokens);
                self.excluded.push((item.id, score, reason));
            }
        }
    }
}

/// Runs the text. `scores` belong to the scoreable items, in order.
pub(crate) fn run(case: &PipelineCase, scores: &[f64], reading: Reading) -> Result<Run, Refusal> {
    let (max, target, reserve) = case.budget;
    let valid = || case.items.iter().filter(|item| item.tokens >= 0);
    let pinned: Vec<&Blueprint> = valid().filter(|item| item.pinned).collect();
    let pinned_tokens: i64 = pinned.iter().map(|item| item.tokens).sum();
    if pinned_tokens > max - reserve {
        return Err(Refusal::PinnedExceedsBudget {
            pinned: pinned_tokens,
            available: max - reserve,
        });
    }
    let effective = |pinned| stages::effective(case.budget, pinned, &[], 0.0).1;
    let mut account = Account {
        reading,
        excluded: Vec::new(),
        effective_target: effective(pinned_tokens),
        target_without_pins: match reading {
            Reading::Text => effective(0),
            // Takes the output reserve off the target; Stage 5 takes it off the window only.
            Reading::Published => target - reserve,
        },
        first_pinned: pinned.first().map(|item| item.content.clone()),
    };
    for item in case.items.iter().filter(|item| item.tokens < 0) {
        account.excluded.push((item.id, 0.0, format!("NegativeTokens {}", item.tokens)));
    }

    let scored: Vec<Scored<'_>> =
        valid().filter(|item| !item.pinned).zip(scores.iter().copied()).collect();
    let sorted = deduplicate_and_sort(case.deduplication, &scored, &mut account);
    let row = |(item, score): &Scored<'_>| Row {
        tokens: item.tokens,
        score: *score,
        kind: item.kind.to_lowercase(),
    };
    let rows: Vec<Row> = sorted.iter().map(row).collect();
    let sliced = case.slicer.expected(&rows, account.effective_target, reading);
    if sliced.refused.is_some() {
        return Err(Refusal::Slicer);
    }
    let used: i64 = sliced.taken.iter().map(|&index| rows[index].tokens).sum();
    for (index, scored) in sorted.iter().enumerate() {
        let over_cap = match reading {
            Reading::Text => sliced.over_cap.contains(&index),
            // Looks at the finished selection: whatever would have fitted alone and has a full
            // kind counts as over the cap, although phase 3 never saw it.
            Reading::Published => {
                !sliced.taken.contains(&index)
                    && rows[index].tokens <= account.effective_target
                    && case.slicer.kind_is_full(&rows, &sliced.taken, &rows[index].kind)
            }
        };
        if over_cap {
            let kind = rows[index].kind.clone();
            account.excluded.push((scored.0.id, scored.1, format!("CountCapExceeded {kind}")));
        } else if !sliced.taken.contains(&index) {
            account.no_room(*scored, account.effective_target - used);
        }
    }

    let mut merged: Vec<Scored<'_>> = pinned.iter().map(|item| (*item, 1.0)).collect();
    merged.extend(sliced.taken.iter().map(|&index| sorted[index]));
    let merged_tokens: i64 = merged.iter().map(|(item, _)| item.tokens).sum();
    // No selection exceeds "maxTokens - outputReserve" (Data Model). Published: the count slicers
    // take required items beyond it, and only the target is looked at.
    let ceiling = match reading {
        Reading::Text => max - reserve,
        Reading::Published => i64::MAX,
    };
    let limit = target.min(ceiling);
    if merged_tokens > limit {
        match case.overflow {
            Overflow::Throw if merged_tokens > target => {
                return Err(Refusal::Overflow { merged: merged_tokens, target });
            }
            Overflow::Throw => {
                return Err(Refusal::Ceiling { merged: merged_tokens, available: ceiling });
            }
            Overflow::Proceed if merged_tokens <= ceiling => {}
            Overflow::Truncate | Overflow::Proceed => {
                let limit = if case.overflow == Overflow::Proceed { ceiling } else { limit };
                // Merging keeps the slicer's order; truncation goes through "sliced items in
                // score-descending order".
                merged[pinned.len()..].sort_by(|(_, a), (_, b)| b.partial_cmp(a).unwrap());
                merged = truncate(&merged, limit, &mut account);
            }
        }
    }
    let placed = case.placer.expected(&merged).into_iter().map(|index| merged[index]);
    let included: Vec<Line> =
        placed.map(|(item, score)| (item.id, score, inclusion(item).to_owned())).collect();
    // Stable: equal scores stay in the order of exclusion.
    account.excluded.sort_by(|(_, a, _), (_, b, _)| b.partial_cmp(a).unwrap());
    Ok(Run {
        total_candidates: case.items.len(),
        total_tokens: case.items.iter().map(|item| item.tokens).sum(),
        included,
        excluded: account.excluded,
        // The report should have them (CountQuotaSlice, Scarcity Reporting). Published: never.
        shortfalls: if reading == Reading::Text { sliced.shortfalls } else { Vec::new() },
    })
}

fn deduplicate_and_sort<'a>(
    deduplication: bool,
    scored: &[Scored<'a>],
    account: &mut Account,
) -> Vec<Scored<'a>> {
    let mut survivors: Vec<usize> = (0..scored.len()).collect();
    if deduplication {
        let contents: Vec<&str> = scored.iter().map(|(item, _)| item.content.as_str()).collect();
        let scores: Vec<f64> = scored.iter().map(|(_, score)| *score).collect();
        survivors = stages::deduplicate(&contents, &scores);
        for index in (0..scored.len()).filter(|index| !survivors.contains(index)) {
            let (item, score) = scored[index];
            let reason = format!("Deduplicated against {:?}", item.content);
            account.excluded.push((item.id, score, reason));
        }
    }
    let unique: Vec<Scored<'a>> = survivors.into_iter().map(|index| scored[index]).collect();
    let rows: Vec<Row> = unique
        .iter()
        .map(|(_, score)| Row { tokens: 0, score: *score, kind: String::new() })
        .collect();
    by_score(&rows).into_iter().map(|index| unique[index]).collect()
}

fn truncate<'a>(merged: &[Scored<'a>], target: i64, account: &mut Account) -> Vec<Scored<'a>> {
    let sizes: Vec<(i64, bool)> =
        merged.iter().map(|(item, _)| (item.tokens, item.pinned)).collect();
    let stays = stages::truncate(&sizes, target);
    let kept: Vec<Scored<'a>> =
        merged.iter().zip(&stays).filter(|(_, stays)| **stays).map(|(scored, _)| *scored).collect();
    let kept_tokens: i64 = kept.iter().map(|(item, _)| item.tokens).sum();
    for (scored, _) in merged.iter().zip(&stays).filter(|(_, stays)| !**stays) {
        account.truncated(*scored, target - kept_tokens);
    }
    kept
}

fn inclusion(item: &Blueprint) -> &'static str {
    match item {
        item if item.pinned => "Pinned",
        item if item.tokens == 0 => "ZeroToken",
        _ => "Scored",
    }
}
