//! Settings that a component cannot work with: all of them, each with its place.

use std::borrow::Cow;
use std::fmt;

/// One setting that is wrong, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigProblem {
    /// The place, as a policy file spells it: `scorers[1].weight`. Empty for the whole.
    pub path: String,
    /// The value, and what would be valid.
    pub message: String,
}

impl ConfigProblem {
    pub(crate) fn new(path: impl fmt::Display, message: impl Into<String>) -> Self {
        let (path, message) = (path.to_string(), message.into());
        Self { path: cut(&path, 500).into_owned(), message: cut(&message, 1_000).into_owned() }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// Everything that is wrong with the settings of one component.
///
/// ```
/// use cupel::{ContextKind, CupelError, KindScorer};
///
/// let weights = [(ContextKind::document(), -1.0), (ContextKind::memory(), f64::NAN)];
/// let Err(CupelError::ScorerConfig(error)) = KindScorer::new(weights) else { panic!() };
/// assert_eq!((error.component(), error.problems().len()), ("KindScorer", 2));
/// assert_eq!(error.problems()[0].path, "weights.Document");
/// assert_eq!(error.problems()[0].message, "must be finite and at least 0, got -1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{component}: {}", Listed(problems))]
pub struct ConfigError {
    component: String,
    problems: Vec<ConfigProblem>,
}

impl ConfigError {
    /// One problem of a component: what scorers and slicers of your own answer with.
    pub fn new(
        component: impl Into<String>,
        path: impl fmt::Display,
        message: impl Into<String>,
    ) -> Self {
        Self::of(component, vec![ConfigProblem::new(path, message)])
    }

    pub(crate) fn of(component: impl Into<String>, problems: Vec<ConfigProblem>) -> Self {
        Self { component: component.into(), problems }
    }

    /// The component, by name.
    #[must_use]
    pub fn component(&self) -> &str {
        &self.component
    }

    /// Every problem, in the order of the settings.
    #[must_use]
    pub fn problems(&self) -> &[ConfigProblem] {
        &self.problems
    }
}

/// Number of problems that are listed one by one.
const SHOWN: usize = 100;

/// One problem as it is, several below their number.
pub(crate) struct Listed<'a, T>(pub(crate) &'a [T]);

impl<T: fmt::Display> fmt::Display for Listed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.0 {
            return only.fmt(f);
        }
        write!(f, "{} problems:", self.0.len())?;
        self.0.iter().take(SHOWN).try_for_each(|problem| write!(f, "\n  {problem}"))?;
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

/// The first `length` characters of a text; an ellipsis says that there are more.
fn cut(text: &str, length: usize) -> Cow<'_, str> {
    match text.char_indices().nth(length).and_then(|(end, _)| text.get(..end)) {
        Some(start) => Cow::Owned(format!("{start}…")),
        None => Cow::Borrowed(text),
    }
}

/// A user's text in quotes, of which a message shows no more than the beginning.
#[cfg(feature = "serde")]
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

#[cfg(feature = "serde")]
impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(40).and_then(|(end, _)| self.0.get(..end)) {
            Some(start) => write!(f, "{start:?}…"),
            None => write!(f, "{:?}", self.0),
        }
    }
}
