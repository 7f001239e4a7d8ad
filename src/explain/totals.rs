//! Totals of a report by kind or source, and the parts of the window.

use foldhash::HashMap;

use super::Explanation;
use crate::diagnostics::SelectionReport;
use crate::model::ContextItem;

/// The items of one kind or source.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) candidates: usize,
    pub(super) offered: i64,
    pub(super) selected: usize,
    pub(super) tokens: i64,
}

/// The groups of a report, the largest part of the selection first.
pub(super) fn groups<'a>(
    report: &'a SelectionReport,
    name: impl Fn(&'a ContextItem) -> &'a str,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut numbers: HashMap<String, usize> = HashMap::default();
    let included = report.included.iter().map(|entry| (&entry.item, true));
    let excluded = report.excluded.iter().map(|entry| (&entry.item, false));
    for (item, selected) in included.chain(excluded) {
        let name = name(item);
        // Kinds and sources are the same whatever their case.
        let number = *numbers.entry(name.to_ascii_lowercase()).or_insert(groups.len());
        if number == groups.len() {
            let name = name.to_owned();
            groups.push(Group { name, candidates: 0, offered: 0, selected: 0, tokens: 0 });
        }
        if let Some(group) = groups.get_mut(number) {
            group.candidates += 1;
            group.offered = group.offered.saturating_add(item.tokens());
            if selected {
                group.selected += 1;
                group.tokens = group.tokens.saturating_add(item.tokens());
            }
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse((group.tokens, group.offered)));
    groups
}

/// Parts of the window, in tokens. They add up to its size, unless the selection exceeds it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "camelCase"))]
pub(super) struct WindowTotals {
    /// All of it, for request and answer.
    pub(super) size: i64,
    /// Not up for selection.
    pub(super) fixed: i64,
    pub(super) selected: i64,
    /// Tokens that the selection could have used and did not.
    pub(super) free: i64,
    /// Kept for wrong estimates.
    pub(super) margin: i64,
    #[cfg_attr(not(feature = "serde"), allow(dead_code))] // for the page
    margin_percent: f64,
    /// Kept for kinds.
    pub(super) slots: i64,
    /// Above the target.
    pub(super) above: i64,
    /// Kept for the answer.
    pub(super) reserve: i64,
    /// The most that the items could have used.
    pub(super) goal: i64,
}

/// The tokens of the selection.
pub(super) fn selected_tokens(report: &SelectionReport) -> i64 {
    token_sum(report.included.iter().map(|entry| &entry.item))
}

/// The tokens of some items, at most [`i64::MAX`].
pub(super) fn token_sum<'a>(items: impl Iterator<Item = &'a ContextItem>) -> i64 {
    items.map(ContextItem::tokens).fold(0, i64::saturating_add)
}

impl WindowTotals {
    /// None when the budget is not known.
    pub(super) fn of(explanation: &Explanation) -> Option<Self> {
        let budget = explanation.budget.as_ref()?;
        let report = &explanation.report;
        let selected = selected_tokens(report).max(0);
        let pinned = report.included.iter().map(|entry| &entry.item).filter(|item| item.pinned());
        let pinned = token_sum(pinned).max(0);
        let effective = budget.effective(pinned).target_tokens();
        let goal = pinned.saturating_add(effective);
        let slots = budget.reserved_slots().values().copied().fold(0, i64::saturating_add);
        let available = budget.available_tokens();
        let without_margin = budget
            .target_tokens()
            .min(available)
            .saturating_sub(pinned.saturating_add(slots))
            .max(0);
        // What is left of the window goes to each in turn, so that the parts never exceed it.
        let mut rest = available.saturating_sub(selected).max(0);
        let mut take = |tokens: i64| {
            let taken = tokens.clamp(0, rest);
            rest -= taken;
            taken
        };
        Some(Self {
            size: budget.max_tokens().saturating_add(explanation.fixed_tokens.max(0)),
            fixed: explanation.fixed_tokens.max(0),
            selected,
            free: take(goal.saturating_sub(selected)),
            margin: take(without_margin.saturating_sub(effective)),
            margin_percent: budget.estimation_safety_margin_percent(),
            slots: take(slots),
            above: take(i64::MAX),
            reserve: budget.output_reserve(),
            goal,
        })
    }
}
