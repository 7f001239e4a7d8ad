//! Settings and room of one turn.

use std::sync::Arc;

use super::recall_slice::RecallSlice;
use super::summary::TurnSummaries;
use crate::model::{ContextBudget, RecallBy, TurnPlan};
use crate::pipeline::Pipeline;
use crate::scorer::ReflexiveScorer;

/// Settings and room of one turn.
#[derive(Debug, Clone)]
#[must_use]
#[non_exhaustive]
pub struct Turn<'a> {
    /// The settings.
    pub plan: &'a TurnPlan,
    /// The model's window, on which the shares and the lengths of excerpts depend, and the grid.
    pub window: i64,
    /// Window on which the grid depends instead, if a correction of the count made `window` smaller or larger.
    pub grid_window: Option<i64>,
    /// Tokens of the window for the conversation and what is recalled.
    pub room: i64,
    /// Tokens that are sent beside the conversation: tools and formats.
    pub fixed_tokens: i64,
    /// True if there are sources: what they bring needs room in any request.
    pub has_sources: bool,
    /// True if part of the conversation is on the server, so that nothing is known of its prefix.
    pub remote: bool,
    /// True if the request before had other tools, so that its prefix is not known.
    pub tools_changed: bool,
    /// Summaries that are there. None where no compactor is set.
    pub summaries: Option<&'a TurnSummaries>,
}

impl<'a> Turn<'a> {
    /// A window that is all the conversation's.
    pub fn new(plan: &'a TurnPlan, window: i64) -> Self {
        Self {
            plan,
            window,
            grid_window: None,
            room: window,
            fixed_tokens: 0,
            has_sources: false,
            remote: false,
            tools_changed: false,
            summaries: None,
        }
    }

    /// Longest results that are sent whole, in tokens: of the newer part, and of the faded one.
    pub(super) fn excerpt_limits(&self) -> (i64, i64) {
        (self.plan.excerpt_tokens(self.window), self.plan.faded_tokens(self.window))
    }

    /// Width of the grid. It is at most half of the window.
    pub(super) fn width(&self) -> i64 {
        let most = self.plan.width(self.grid_window.unwrap_or(self.window));
        match self.grid_window {
            Some(_) => most.min(1 << (self.window / 2).max(1).ilog2()),
            None => most,
        }
    }

    /// Sets what of the window the conversation may take.
    pub fn room(mut self, tokens: i64) -> Self {
        self.room = tokens;
        self
    }

    /// Sets what is sent besides.
    pub fn fixed_tokens(mut self, tokens: i64) -> Self {
        self.fixed_tokens = tokens;
        self
    }

    /// Says that there are sources.
    pub fn has_sources(mut self, there_are: bool) -> Self {
        self.has_sources = there_are;
        self
    }

    /// Sets the summaries that are there.
    pub fn summaries(mut self, summaries: &'a TurnSummaries) -> Self {
        self.summaries = Some(summaries);
        self
    }
}

/// Numbers that a turn is planned with, without the settings.
#[derive(Clone, Copy)]
pub(crate) struct TurnFacts {
    pub(crate) window: i64,
    pub(crate) grid_window: Option<i64>,
    pub(crate) room: i64,
    pub(crate) fixed_tokens: i64,
    pub(crate) has_sources: bool,
    pub(crate) remote: bool,
    pub(crate) tools_changed: bool,
}

impl TurnFacts {
    /// Numbers of a request whose fixed tokens leave this budget of a window.
    pub(crate) fn new(window: i64, left: &ContextBudget, fixed_tokens: i64) -> Self {
        let room = left.effective(0).target_tokens();
        Self {
            window,
            grid_window: None,
            room,
            fixed_tokens,
            has_sources: false,
            remote: false,
            tools_changed: false,
        }
    }

    /// The turn with these settings.
    pub(crate) fn turn<'a>(&self, plan: &'a TurnPlan) -> Turn<'a> {
        let Self { window, grid_window, room, fixed_tokens, has_sources, remote, tools_changed } =
            *self;
        Turn {
            plan,
            window,
            grid_window,
            room,
            fixed_tokens,
            has_sources,
            remote,
            tools_changed,
            summaries: None,
        }
    }
}

/// The pipeline that selects from what competes to be recalled. By relevance it fills from the best
/// hint down, and otherwise goes on as the policy's own does.
pub(crate) fn recall_pipeline(plan: &TurnPlan, own: &Pipeline) -> Pipeline {
    match plan.recall_by {
        RecallBy::Policy => own.clone(),
        RecallBy::Relevance => {
            own.with_parts(Some(Arc::new(ReflexiveScorer)), Some(Arc::new(RecallSlice)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_a_factor_made_smaller_keeps_its_grid() {
        let plan = TurnPlan::new();
        let turn = |window, grid_window| Turn { grid_window, ..Turn::new(&plan, window) };
        assert_eq!(turn(3_500, None).width(), 1_024);
        for factor in [0.8, 1.0, 1.1, 1.4, 1.7] {
            let window = (3_500.0 / factor) as i64;
            assert_eq!(turn(window, Some(3_500)).width(), 1_024, "{factor}");
        }
        // Half of the window at most.
        assert_eq!(turn(1_000, Some(3_500)).width(), 256);
    }
}
