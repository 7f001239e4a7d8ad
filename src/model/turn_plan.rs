//! Settings of a turn's plan, as shares of the window, and the way in which a policy selects.

use std::fmt;

use crate::error::CupelError;

/// The settings of a plan of a turn; see `conversation::plan` for what it does.
///
/// Everything follows from the window, never from what else is in a request, so that consecutive
/// requests begin alike and a provider's prompt cache serves them.
///
/// ```
/// use cupel::model::{Grid, TurnPlan};
///
/// let plan = TurnPlan::new().recall(0.2).grid(Grid::Uncached).check()?;
/// assert_eq!(plan.recall_tokens(32_000, false), 6_400);
/// assert_eq!(TurnPlan::new().width(32_000), 8_192);
/// assert!(TurnPlan::new().recall(1.5).check().is_err());
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct TurnPlan {
    pub(crate) recall: f64,
    pub(crate) recall_with_sources: f64,
    pub(crate) standing: f64,
    pub(crate) grid: Grid,
    pub(crate) excerpt: f64,
    pub(crate) faded: f64,
    pub(crate) hash: bool,
    pub(crate) recall_by: RecallBy,
    pub(crate) compare: bool,
}

/// Grid of the places where a conversation may be cut: its tokens since the start cross a multiple of
/// the grid's width there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Grid {
    /// For providers and servers that read a prefix they have seen from a cache: the largest power of two
    /// that is at most 30 % of the window, and 512 tokens for windows from 1,500 tokens on.
    #[default]
    Cached,
    /// For servers without a prompt cache: about a thirtieth of the window, so that it is full.
    Uncached,
    /// So many tokens.
    Tokens(i64),
}

/// Criterion by which messages before the cut are recalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RecallBy {
    /// Their relevance to the user's last words alone, the best first.
    #[default]
    Relevance,
    /// The policy's own scorer and slicer.
    Policy,
}

/// Share of the window. Recorded runs lost values of later calls with a smaller share, and cost more
/// than a quarter of plain trimming with a larger one.
const RECALL: f64 = 0.1;
/// Retrieved documents are what the caller went out for.
const RECALL_WITH_SOURCES: f64 = 0.25;
/// A conversation of 100,000 tokens has 9 to 17 standing orders, 400 to 700 tokens.
const STANDING: f64 = 0.05;
/// A longer result leaves no room for the steps around it. Replays with a fifth or a quarter were mixed:
/// coding agents kept a few more values in view or a few less, and mostly cost more.
const EXCERPT: f64 = 1.0 / 8.0;
/// In the older part of what is kept. On by default: replays kept more values in view with it.
const FADED: f64 = 1.0 / 16.0;
/// No excerpt is shorter, or it would be nothing but its mark.
const SHORTEST: i64 = 48;

impl TurnPlan {
    /// The defaults: a tenth of the window for what is recalled, a quarter where there are sources, a
    /// twentieth for standing orders, a grid for prompt caches, results of up to an eighth of the window, a sixteenth in the older
    /// part.
    pub const fn new() -> Self {
        Self {
            recall: RECALL,
            recall_with_sources: RECALL_WITH_SOURCES,
            standing: STANDING,
            grid: Grid::Cached,
            excerpt: EXCERPT,
            faded: FADED,
            hash: false,
            recall_by: RecallBy::Relevance,
            compare: false,
        }
    }

    /// Sets the share of the window for recalled messages, with and without sources. The text around
    /// the quotation comes on top.
    pub const fn recall(mut self, share: f64) -> Self {
        self.recall = share;
        self.recall_with_sources = share;
        self
    }

    /// Sets that share for layers that have sources.
    pub const fn recall_with_sources(mut self, share: f64) -> Self {
        self.recall_with_sources = share;
        self
    }

    /// Sets the share of the window for the user's standing orders; 0 turns them off. The frame around
    /// them comes on top.
    pub const fn standing(mut self, share: f64) -> Self {
        self.standing = share;
        self
    }

    /// Sets where a conversation may be cut.
    pub const fn grid(mut self, grid: Grid) -> Self {
        self.grid = grid;
        self
    }

    /// Sets the share of the window from which on a tool's result is sent as an excerpt; 1 sends
    /// whole what fits at all.
    pub const fn excerpt(mut self, share: f64) -> Self {
        self.excerpt = share;
        self
    }

    /// Sets the share of the window from which on a result in the older part of what is kept is
    /// sent as an excerpt.
    pub const fn faded(mut self, share: f64) -> Self {
        self.faded = share;
        self
    }

    /// Puts a hash of the whole result into an excerpt's mark, for archives that can give it back.
    pub const fn hash(mut self, enabled: bool) -> Self {
        self.hash = enabled;
        self
    }

    /// Sets the criterion by which messages before the cut are recalled.
    pub const fn recall_by(mut self, recall_by: RecallBy) -> Self {
        self.recall_by = recall_by;
        self
    }

    /// Adds to each report what newest-first trimming would have sent, to compare the costs.
    pub const fn compare(mut self, enabled: bool) -> Self {
        self.compare = enabled;
        self
    }

    /// Checks all settings.
    ///
    /// # Errors
    ///
    /// [`CupelError::PipelineConfig`] names the first that is wrong, and what would be valid.
    pub fn check(self) -> Result<Self, CupelError> {
        match self.problems().into_iter().next() {
            None => Ok(self),
            Some((field, problem)) => {
                Err(CupelError::PipelineConfig(format!("plan.{field} {problem}")))
            }
        }
    }

    /// Every invalid setting, by its name in files.
    pub(crate) fn problems(&self) -> Vec<(&'static str, String)> {
        let shares = [
            ("recall", self.recall),
            ("recall_with_sources", self.recall_with_sources),
            ("standing", self.standing),
            ("excerpt", self.excerpt),
            ("faded", self.faded),
        ];
        let mut problems = Vec::new();
        for (field, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                problems.push((field, format!("must be between 0 and 1, got {share}")));
            }
        }
        if let Grid::Tokens(tokens) = self.grid {
            if tokens < 1 {
                problems.push(("grid", format!("must be at least 1 token, got {tokens}")));
            }
        }
        problems
    }

    /// The grid's width in a window of so many tokens.
    pub fn width(&self, window: i64) -> i64 {
        let window = window.max(1) as f64;
        let most = match self.grid {
            Grid::Tokens(tokens) => return tokens.max(1),
            // A narrower grid than 512 costs more in moves than it keeps in view.
            Grid::Cached => (window * 0.3).max((window * 0.35).min(512.0)),
            Grid::Uncached => window / 32.0,
        };
        // `as` saturates.
        let most = (most as i64).max(32);
        1 << most.ilog2()
    }

    /// The tokens kept for what is recalled.
    pub fn recall_tokens(&self, window: i64, with_sources: bool) -> i64 {
        let share = if with_sources { self.recall_with_sources } else { self.recall };
        part(window, share)
    }

    /// The tokens kept for standing orders.
    #[must_use]
    pub fn standing_tokens(&self, window: i64) -> i64 {
        part(window, self.standing)
    }

    /// The longest result that is sent whole.
    pub fn excerpt_tokens(&self, window: i64) -> i64 {
        part(window, self.excerpt).max(SHORTEST)
    }

    /// The longest result that is sent whole in the older part of what is kept.
    pub fn faded_tokens(&self, window: i64) -> i64 {
        part(window, self.faded).clamp(SHORTEST, self.excerpt_tokens(window))
    }

    /// The longest result that is quoted whole: one that leaves room for something beside it.
    pub fn quoted_tokens(&self, window: i64, with_sources: bool) -> i64 {
        let most = self.recall_tokens(window, with_sources) / 8 * 5;
        self.faded_tokens(window).min(most).max(SHORTEST)
    }
}

fn part(window: i64, share: f64) -> i64 {
    (window.max(0) as f64 * share).floor() as i64
}

impl Default for TurnPlan {
    fn default() -> Self {
        Self::new()
    }
}

/// Way in which a policy selects: conversations are planned if it has a plan, everything else is scored.
///
/// ```
/// use cupel::model::Strategy;
///
/// assert_eq!(Strategy::default(), Strategy::Scored);
/// assert_eq!(Strategy::Planned.to_string(), "planned");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Strategy {
    /// A [plan](crate::conversation::plan) decides what is sent of a conversation.
    Planned,
    /// Candidates are scored, and the best that fit are sent. Names that are not known are read as this.
    #[default]
    #[cfg_attr(feature = "serde", serde(other))]
    Scored,
}

impl Strategy {
    /// The strategy for a request that is planned or not.
    pub(crate) fn of(is_planned: bool) -> Self {
        if is_planned { Self::Planned } else { Self::Scored }
    }

    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Scored => "scored",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
