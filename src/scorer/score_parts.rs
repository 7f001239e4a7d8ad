//! Explanation of a score: a tree of scorers, as search engines explain theirs.

/// A score with the scores it was made of.
///
/// A [`Scorer`](super::Scorer) gives one for each item in [`explain_all`](super::Scorer::explain_all), when a report
/// [asks for it](crate::diagnostics::DiagnosticTraceCollector::explain_scores).
///
/// ```
/// use cupel::{ContextItem, ReflexiveScorer, Scorer};
/// use cupel::scorer::{CompositeScorer, KindScorer};
///
/// let scorer = CompositeScorer::builder()
///     .add(ReflexiveScorer, 3.0)
///     .add(KindScorer::default(), 1.0)
///     .build()?;
/// let item = ContextItem::builder("hit", 2).future_relevance_hint(0.8).build()?;
/// let explained = scorer.explain_all(&[item]);
/// assert_eq!(
///     explained[0].to_string(),
///     "CompositeScorer 0.650\n\
///      ├ 75 % ReflexiveScorer 0.800 (hint 0.8)\n\
///      └ 25 % KindScorer 0.200 (Message)\n",
/// );
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(remote = "Self"))]
#[non_exhaustive]
#[must_use]
pub struct ScoreParts {
    /// The scorer's name.
    pub scorer: String,
    /// The score it gave.
    #[cfg_attr(feature = "serde", serde(with = "crate::model::float"))]
    pub score: f64,
    /// The share it has in the score above it, where that is a weighted average.
    #[cfg_attr(
        feature = "serde",
        serde(
            default,
            skip_serializing_if = "Option::is_none",
            with = "crate::model::float::option"
        )
    )]
    pub share: Option<f64>,
    /// Reason for the score, in a few words. It may quote the item's tags and metadata.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub note: Option<String>,
    /// The scores it was made of.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub parts: Vec<ScoreParts>,
}

#[cfg(feature = "serde")]
crate::model::serde_by_name!(read ScoreParts);

impl ScoreParts {
    /// A score that was made of nothing else.
    pub fn new(scorer: impl Into<String>, score: f64) -> Self {
        Self { scorer: scorer.into(), score, ..Self::default() }
    }

    /// Sets the reason for the score.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Adds a score that this one was made of.
    pub fn part(mut self, part: Self) -> Self {
        self.parts.push(part);
        self
    }

    /// Sets the share in the score above.
    pub fn share(mut self, share: f64) -> Self {
        self.share = Some(share);
        self
    }

    /// The same tree without its notes, which may quote an item.
    pub fn without_notes(&self) -> Self {
        Self {
            note: None,
            parts: self.parts.iter().map(Self::without_notes).collect(),
            ..self.clone()
        }
    }

    fn write(&self, f: &mut std::fmt::Formatter<'_>, indent: &str) -> std::fmt::Result {
        if let Some(share) = self.share {
            write!(f, "{:.0} % ", share * 100.0)?;
        }
        write!(f, "{} {:.3}", self.scorer, self.score)?;
        if let Some(note) = &self.note {
            write!(f, " ({note})")?;
        }
        writeln!(f)?;
        for (number, part) in self.parts.iter().enumerate() {
            let last = number + 1 == self.parts.len();
            write!(f, "{indent}{} ", if last { '└' } else { '├' })?;
            part.write(f, &format!("{indent}{} ", if last { ' ' } else { '│' }))?;
        }
        Ok(())
    }
}

/// The tree, one line a scorer.
impl std::fmt::Display for ScoreParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.write(f, "")
    }
}
