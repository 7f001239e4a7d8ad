//! Who is told what was selected.

use std::fmt;

use auto_impl::auto_impl;

use super::{CallObserver, CallStart, ContextError, StreamReport, TurnReport};
use crate::diagnostics::SelectionReport;
use crate::gather::GatherReport;
use crate::model::{ContextBudget, Placed};

/// What one call selected, from what, and why.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Selection {
    /// Every candidate with its reason.
    pub report: SelectionReport,
    /// How each source went.
    pub gather: GatherReport,
    /// The budget the selection had: the provider's, less the fixed tokens.
    pub budget: ContextBudget,
    /// Tokens that were not up for selection.
    pub fixed_tokens: i64,
    /// How many parts of the request were [refused](super::Refused) or
    /// [withdrawn](super::ContextAdapter::withdrawn); the report lists them among the excluded
    /// ones.
    pub refused: usize,
    /// What is in the request that is sent.
    pub sent: Sent,
    /// What is sent beside the selection and could not be counted, in words: the request may be
    /// larger than the budget by as much.
    pub uncounted: Vec<String>,
    /// Set when the turn was [planned](crate::conversation::plan).
    pub plan: Option<Box<TurnReport>>,
    /// Set when the selection was made while items arrived: then `report.excluded` is a sample of
    /// the best ones, and the totals count everything. None when everything had arrived before.
    pub stream: Option<StreamReport>,
}

/// What is in a request, counted when it was built. It is there without a report as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Sent {
    /// How many items the request has.
    pub items: usize,
    /// Their tokens, and those of the frame around what a plan quotes; the fixed tokens come on top.
    pub tokens: i64,
    /// How many candidates it does not have: left out, refused, or selected and then withdrawn.
    pub left_out: usize,
}

impl Sent {
    /// Counts what is placed of `candidates`, the refused ones among them.
    pub(super) fn count(placed: &[Placed], candidates: usize) -> Self {
        let tokens = placed.iter().map(|placed| placed.item.tokens());
        Self {
            items: placed.len(),
            tokens: tokens.fold(0, i64::saturating_add),
            left_out: candidates.saturating_sub(placed.len()),
        }
    }
}

impl Selection {
    /// Stands where a selection will be.
    pub(super) fn empty() -> Self {
        Self {
            report: SelectionReport::default(),
            gather: GatherReport::default(),
            budget: ContextBudget::bare(0, 0),
            fixed_tokens: 0,
            refused: 0,
            sent: Sent::default(),
            uncounted: Vec::new(),
            plan: None,
            stream: None,
        }
    }
}

/// Is told about every selection before the wrapped service is called.
///
/// A closure over `&Selection` is a hook for successes:
///
/// ```
/// use cupel::layer::{Selection, SelectionHook};
///
/// fn assert_hook(_: impl SelectionHook) {}
/// assert_hook(|selection: &Selection| println!("{} items", selection.report.included.len()));
/// ```
#[auto_impl(Arc)]
#[allow(unused_variables)] // the names are for those who override
pub trait SelectionHook: Send + Sync {
    /// A selection was made.
    fn on_selection(&self, selection: &Selection) {}

    /// No selection could be made; the wrapped service is not called.
    fn on_failure(&self, error: &ContextError, gather: &GatherReport) {}

    /// Whether [`on_selection`](Self::on_selection) shall be called; asked for every call. Where
    /// no hook wants it, no report is made.
    fn wants_selection(&self) -> bool {
        true
    }

    /// Follows a call that begins. Called in the caller's task at the first poll of the call, before
    /// the sources are polled.
    fn observe(&self, call: &CallStart) -> Option<Box<dyn CallObserver>> {
        None
    }
}

impl SelectionHook for () {}

impl<F: Fn(&Selection) + Send + Sync> SelectionHook for F {
    fn on_selection(&self, selection: &Selection) {
        self(selection);
    }
}

impl fmt::Debug for dyn SelectionHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SelectionHook")
    }
}
