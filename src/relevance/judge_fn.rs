//! A judge made of a function.

use std::fmt;
use std::sync::Arc;

use super::{Candidate, Hint, Judge, Question, Verdict};

/// A judge made of a function; see [`judge_fn`].
pub struct JudgeFn<F> {
    name: String,
    judge: Arc<F>,
}

/// Makes a judge of a function that looks at one text at a time.
///
/// ```
/// use cupel::relevance::{Candidate, Hint, Judge, Question, judge_fn};
///
/// let mentions = judge_fn("mentions", |question: &Question, candidate: &Candidate<'_>| {
///     Hint::new(if candidate.text.contains(question.text()) { 1.0 } else { 0.0 })
/// });
/// let verdict = mentions.judge(&Question::new("tea"), &[Candidate::new("a cup of tea", 4)]);
/// assert_eq!(verdict.unwrap().hints[0].value(), 1.0);
/// ```
pub fn judge_fn<F>(name: impl Into<String>, judge: F) -> JudgeFn<F>
where
    F: Fn(&Question, &Candidate<'_>) -> Hint + Send + Sync + 'static,
{
    JudgeFn { name: name.into(), judge: Arc::new(judge) }
}

impl<F> Judge for JudgeFn<F>
where
    F: Fn(&Question, &Candidate<'_>) -> Hint + Send + Sync + 'static,
{
    fn judge(&self, question: &Question, candidates: &[Candidate<'_>]) -> Option<Verdict> {
        let hints = candidates.iter().map(|candidate| (self.judge)(question, candidate)).collect();
        let (judge, question) = (Arc::clone(&self.judge), question.clone());
        Some(Verdict::new(hints, move |candidate| judge(&question, candidate)))
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl<F> Clone for JudgeFn<F> {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), judge: Arc::clone(&self.judge) }
    }
}

impl<F> fmt::Debug for JudgeFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JudgeFn").field("name", &self.name).finish_non_exhaustive()
    }
}
