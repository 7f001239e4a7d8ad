//! A selection as text for a terminal.

mod lists;
mod sections;
mod table;

use std::fmt;
use std::io::IsTerminal;

use super::words::Texts;
use super::{Difference, Explanation};
use table::Paint;

/// A part of the [`Text`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Section {
    /// A few lines: how full the window is, what moved, how sources went, how many were left out.
    Brief,
    /// New and dropped items since the call before, a line each.
    Changes,
    /// Totals of the candidates and of the selection.
    Summary,
    /// Candidates and selection by kind.
    Kinds,
    /// Candidates and selection by source.
    Origins,
    /// Selected items, in the order the model reads them.
    Included,
    /// Items that were left out, by reason.
    Excluded,
    /// Changes since the call before.
    Difference,
    /// Tools that were sent and left out.
    Tools,
    /// Outcome of each source.
    Sources,
    /// Duration of each stage.
    Stages,
}

/// The text form of an [`Explanation`], made by [`Explanation::text`] and written with `{}`.
///
/// ```
/// use cupel::explain::{Explanation, Section};
/// use cupel::{ContextBudget, ContextItem, Policy};
///
/// let budget = ContextBudget::builder(60).build()?;
/// let items = [ContextItem::new("a match", 40)?, ContextItem::new("a larger match", 50)?];
/// let explanation = Explanation::new(Policy::rag().dry_run(&items, &budget)?).budget(budget);
/// assert_eq!(
///     explanation.text().brief().to_string(),
///     "  1 of 2 items, 40 of 60 tokens  █████████████░░░░░░░  66.7 %\n  \
///        left out: 1 BudgetExceeded; the best, 0.12: a larger match\n",
/// );
/// let lists = [Section::Included, Section::Excluded];
/// println!("{}", explanation.text().sections(&lists).for_stdout());
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a text is written with {}"]
pub struct Text<'a> {
    explanation: &'a Explanation,
    previous: Option<&'a Explanation>,
    sections: Vec<Section>,
    /// Items of each list.
    rows: usize,
    texts: Texts,
    paint: Paint,
}

/// All but those for a call among many.
const ALL_SECTIONS: [Section; 9] = [
    Section::Summary,
    Section::Kinds,
    Section::Origins,
    Section::Difference,
    Section::Included,
    Section::Excluded,
    Section::Tools,
    Section::Sources,
    Section::Stages,
];

impl Explanation {
    /// The text for a terminal.
    pub fn text(&self) -> Text<'_> {
        Text::new(self)
    }
}

impl<'a> Text<'a> {
    /// The number of columns unless set.
    pub const WIDTH: usize = 100;

    /// The items shown of each list unless set.
    pub const ROWS: usize = 8;

    pub(super) fn new(explanation: &'a Explanation) -> Self {
        Self {
            explanation,
            previous: None,
            sections: ALL_SECTIONS.to_vec(),
            rows: Self::ROWS,
            texts: Texts(true),
            paint: Paint { colour: false, width: Self::WIDTH },
        }
    }

    /// Shows what changed since this call.
    pub fn previous(mut self, previous: impl Into<Option<&'a Explanation>>) -> Self {
        self.previous = previous.into();
        self
    }

    /// Shows these parts only, in this order.
    pub fn sections(mut self, sections: &[Section]) -> Self {
        self.sections = sections.to_vec();
        self
    }

    /// Shows [a few lines](Section::Brief), for a call among many.
    pub fn brief(self) -> Self {
        self.sections(&[Section::Brief])
    }

    /// Shows so many items of each list.
    pub fn rows(mut self, rows: usize) -> Self {
        self.rows = rows;
        self
    }

    /// Shows every item of every list.
    pub fn all_rows(self) -> Self {
        self.rows(usize::MAX)
    }

    /// Leaves out the texts, and all that holds or quotes them.
    pub fn without_texts(mut self) -> Self {
        self.texts = Texts(false);
        self
    }

    /// Sets the number of columns; 40 at least.
    pub fn width(mut self, columns: usize) -> Self {
        self.paint.width = columns.max(40);
        self
    }

    /// Sets whether there are colours; plain text unless set.
    pub fn colour(mut self, enabled: bool) -> Self {
        self.paint.colour = enabled;
        self
    }

    /// Uses colours if standard output is a terminal and the variable `NO_COLOR` is not set.
    pub fn for_stdout(self) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        self.colour(std::io::stdout().is_terminal() && !refused)
    }

    fn difference(&self) -> Option<(&'a Explanation, Difference)> {
        let previous = self.previous?;
        Some((previous, self.explanation.since(previous)))
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for section in &self.sections {
            match section {
                Section::Brief => self.brief_lines(f)?,
                Section::Changes => self.change_lines(f)?,
                Section::Summary => self.summary(f)?,
                Section::Kinds => self.groups(f, "BY KIND", |item| self.texts.kind(item))?,
                Section::Origins => self.groups(f, "BY SOURCE", |item| self.texts.source(item))?,
                Section::Included => self.included(f)?,
                Section::Excluded => self.excluded(f)?,
                Section::Difference => self.changes(f)?,
                Section::Tools => self.tools(f)?,
                Section::Sources => self.sources(f)?,
                Section::Stages => self.stages(f)?,
            }
        }
        Ok(())
    }
}
