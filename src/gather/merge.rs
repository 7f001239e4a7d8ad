//! One list of candidates from the request's own and everybody else's.

use std::sync::Arc;

use super::GatherReport;
use super::run::Arrived;
use super::source::{FailurePolicy, Source};
use crate::model::{ContextBudget, ContextItem, OverflowStrategy};

/// Where a candidate came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Candidate {
    /// The request's own candidate with this index.
    Request(usize),
    /// The item with this index of the named source.
    Source(Arc<str>, usize),
}

/// All candidates of a call, each with where it came from.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) items: Vec<ContextItem>,
    pub(crate) origins: Vec<Candidate>,
    pub(crate) report: GatherReport,
}

impl Gathered {
    /// Puts the request's candidates first, then each source's, in the order they were added.
    ///
    /// A pin is a promise that the caller makes. An optional source whose pinned items would not
    /// fit must not fail the call, so the pins that exceed [`pin_limit`] beside the caller's are
    /// lifted and the items compete like any other.
    pub(crate) fn merge<Req>(
        own: Vec<ContextItem>,
        arrived: Arrived,
        mut report: GatherReport,
        sources: &[Source<Req>],
        pin_limit: i64,
    ) -> Self {
        let Arrived(by_source) = arrived;
        let is_optional = |source: &Source<Req>| source.failure != FailurePolicy::Required;
        let promised = own.iter().chain(
            by_source
                .iter()
                .zip(sources)
                .filter(|(_, s)| !is_optional(s))
                .flat_map(|(items, _)| items),
        );
        let mut pinned = promised.filter(|item| item.pinned()).fold(0, add_tokens);

        let mut origins: Vec<Candidate> = (0..own.len()).map(Candidate::Request).collect();
        let mut items = own;
        let per_source = by_source.into_iter().zip(sources).zip(&mut report.sources);
        for ((arrived, source), source_report) in per_source {
            for (position, mut item) in arrived.into_iter().enumerate() {
                if item.pinned() && item.tokens() >= 0 && is_optional(source) {
                    let with = add_tokens(pinned, &item);
                    if with <= pin_limit {
                        pinned = with;
                    } else if let Ok(unpinned) = item.to_builder().pinned(false).build() {
                        item = unpinned;
                        source_report.pins_lifted += 1;
                    }
                }
                items.push(item);
                origins.push(Candidate::Source(Arc::clone(&source.name), position));
            }
        }
        Self { items, origins, report }
    }
}

/// How many tokens may be pinned before a run fails.
pub(crate) fn pin_limit(budget: &ContextBudget, overflow: OverflowStrategy) -> i64 {
    let available = budget.max_tokens().saturating_sub(budget.output_reserve());
    match overflow {
        // Pins beyond the target would fail the call as surely as pins beyond the window.
        OverflowStrategy::Throw => available.min(budget.target_tokens()),
        _ => available,
    }
}

fn add_tokens(sum: i64, item: &ContextItem) -> i64 {
    sum.saturating_add(item.tokens().max(0))
}
