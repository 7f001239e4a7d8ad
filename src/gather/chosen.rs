//! The result of a selection, made at the end or while items arrived.

use super::report::StreamReport;
use crate::diagnostics::SelectionReport;
use crate::error::CupelError;
use crate::model::{ContextItem, Placed};

/// Selected items, and the reports on them.
#[derive(Default)]
pub(crate) struct Chosen {
    /// In presentation order.
    pub(crate) placed: Vec<Placed>,
    /// Empty when nobody wants it.
    pub(crate) report: SelectionReport,
    pub(crate) stream: Option<StreamReport>,
    /// One entry a source.
    pub(crate) sources: Vec<SourceNotes>,
    /// Number of items there were to select from.
    pub(crate) candidates: usize,
}

/// Findings of the selection about a source.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SourceNotes {
    pub(crate) pins_lifted: usize,
    pub(crate) broke_promise: bool,
}

/// An error of the pipeline, with the largest pinned items if these do not fit.
pub(crate) struct NotSelected {
    pub(crate) error: CupelError,
    /// Each with its index among the request's own candidates, if it is one.
    pub(crate) largest: Vec<(Option<usize>, ContextItem)>,
}

impl NotSelected {
    /// `own` says which of the request's own candidates an item is, by its position in `items`.
    pub(crate) fn new(
        error: CupelError,
        items: &[ContextItem],
        own: impl Fn(usize) -> Option<usize>,
    ) -> Self {
        let mut largest = Vec::new();
        if matches!(error, CupelError::PinnedExceedsBudget { .. }) {
            let pinned = items.iter().enumerate().filter(|(_, item)| item.pinned());
            let mut pinned: Vec<(usize, &ContextItem)> = pinned.collect();
            pinned.sort_by_key(|(_, item)| std::cmp::Reverse(item.tokens()));
            let three = pinned.into_iter().take(3);
            largest.extend(three.map(|(position, item)| (own(position), item.clone())));
        }
        Self { error, largest }
    }
}
