//! One list of candidates from the request's own and everybody else's.

use std::sync::Arc;

use super::GatherReport;
use super::run::Arrived;
use super::source::{FailurePolicy, Source};
use crate::model::{ContextBudget, ContextItem, OverflowStrategy};

/// All candidates of a call, and whose they are.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) items: Vec<ContextItem>,
    pub(crate) owners: Owners,
    pub(crate) report: GatherReport,
}

/// Who gave which candidates: the request the first ones, then each source a stretch.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    own: usize,
    /// Where each source's stretch ends; the next one begins there.
    sources: Vec<(usize, Arc<str>)>,
}

impl Owners {
    /// The source of the candidate at `position`, and its position there; none for the request's
    /// own candidates.
    pub(crate) fn source_of(&self, position: usize) -> Option<(&Arc<str>, usize)> {
        if position < self.own {
            return None;
        }
        let number = self.sources.partition_point(|(end, _)| *end <= position);
        let start = match number.checked_sub(1) {
            Some(before) => self.sources.get(before)?.0,
            None => self.own,
        };
        self.sources.get(number).map(|(_, name)| (name, position - start))
    }
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

        let mut owners = Owners { own: own.len(), sources: Vec::with_capacity(by_source.len()) };
        let mut items = own;
        let per_source = by_source.into_iter().zip(sources).zip(&mut report.sources);
        for ((arrived, source), source_report) in per_source {
            let first = items.len();
            items.extend(arrived);
            owners.sources.push((items.len(), Arc::clone(&source.name)));
            if !is_optional(source) {
                continue;
            }
            for item in items.iter_mut().skip(first) {
                if item.pinned() && item.tokens() >= 0 {
                    let with = add_tokens(pinned, item);
                    if with <= pin_limit {
                        pinned = with;
                    } else if let Ok(unpinned) = item.to_builder().pinned(false).build() {
                        *item = unpinned;
                        source_report.pins_lifted += 1;
                    }
                }
            }
        }
        Self { items, owners, report }
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
