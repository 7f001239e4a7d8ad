//! The question, the trait for judges, what goes in and out, a judge made of a function, and a task that can
//! run elsewhere.

use std::fmt;
use std::sync::Arc;

use auto_impl::auto_impl;

use super::Hint;
use crate::caught::{caught, discard};
use crate::model::{ContextItem, ContextKind};

/// One text to judge.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Candidate<'a> {
    /// The whole text, without what a report puts in front of it.
    pub text: &'a str,
    /// Its tokens.
    pub tokens: i64,
    /// Position in the conversation; none for other texts, such as documents.
    pub place: Option<usize>,
}

impl<'a> Candidate<'a> {
    /// A text that stands alone.
    #[must_use]
    pub fn new(text: &'a str, tokens: i64) -> Self {
        Self { text, tokens, place: None }
    }

    /// Says where in the conversation the text stands: 0 is its beginning.
    #[must_use]
    pub fn at(mut self, place: usize) -> Self {
        self.place = Some(place);
        self
    }
}

type Further = dyn Fn(&Candidate<'_>) -> Hint + Send + Sync;

/// Answer of a judge to a question.
#[derive(Clone)]
#[non_exhaustive]
pub struct Verdict {
    /// One for each candidate, in their order.
    pub hints: Vec<Hint>,
    further: SharedFurther,
    /// Values of the hints before neighbours lent; none if nobody did.
    alone: Option<Arc<[f64]>>,
}

/// A user's function. A panic when it is dropped is ignored.
#[derive(Clone)]
struct SharedFurther(Option<Arc<Further>>);

impl Drop for SharedFurther {
    fn drop(&mut self) {
        discard(self.0.take());
    }
}

impl Verdict {
    /// The hints of the candidates, and how to judge a text that comes later by itself.
    pub fn new(
        hints: Vec<Hint>,
        further: impl Fn(&Candidate<'_>) -> Hint + Send + Sync + 'static,
    ) -> Self {
        Self { hints, further: SharedFurther(Some(Arc::new(further))), alone: None }
    }

    /// Sets the values of the hints before neighbours lent.
    pub(super) fn with_alone(mut self, alone: Arc<[f64]>) -> Self {
        self.alone = Some(alone);
        self
    }

    /// Value of a candidate's hint, without what its neighbours lent.
    pub(crate) fn alone(&self, index: usize) -> Option<f64> {
        match &self.alone {
            Some(alone) => alone.get(index).copied(),
            None => self.hints.get(index).map(Hint::value),
        }
    }

    /// Judges a text that was not among the candidates, by what is known from them.
    ///
    /// The answer depends on that text alone, and has nothing of its neighbours'.
    pub fn further(&self, candidate: &Candidate<'_>) -> Hint {
        self.further.0.as_ref().map_or_else(|| Hint::new(0.0), |further| further(candidate))
    }
}

impl fmt::Debug for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verdict").field("hints", &self.hints).finish_non_exhaustive()
    }
}

/// Says how close texts are to a question.
///
/// A judge is a pure function: equal questions and candidates, equal hints. This one counts the
/// question's letters:
///
/// ```
/// use cupel::relevance::{Candidate, Hint, Judge, Question, Verdict};
///
/// struct Letters;
///
/// impl Judge for Letters {
///     fn judge(&self, question: &Question, candidates: &[Candidate<'_>]) -> Option<Verdict> {
///         let asked = question.text().to_owned();
///         let hint = move |candidate: &Candidate<'_>| {
///             let shared = asked.chars().filter(|c| candidate.text.contains(*c)).count();
///             Hint::new(shared as f64 / asked.chars().count().max(1) as f64)
///         };
///         Some(Verdict::new(candidates.iter().map(&hint).collect(), hint))
///     }
/// }
///
/// let verdict = Letters.judge(&Question::new("abc"), &[Candidate::new("cab", 1)]).unwrap();
/// assert_eq!(verdict.hints[0].value(), 1.0);
/// assert_eq!(Letters.name(), "Letters");
/// ```
#[auto_impl(Arc, Box)]
pub trait Judge: Send + Sync {
    /// Judges the candidates, in their order; none when the question has nothing to go by, and
    /// then nothing is changed.
    fn judge(&self, question: &Question, candidates: &[Candidate<'_>]) -> Option<Verdict>;

    /// The name to use in reports; the type's name unless overridden.
    fn name(&self) -> &str {
        crate::names::short_type_name::<Self>()
    }

    /// About how long judging these candidates takes, in steps of roughly a nanosecond; none where
    /// the judge cannot say. A layer moves what takes long to the blocking pool, and learns from the
    /// calls before what it is not told.
    fn steps(&self, candidates: &[Candidate<'_>]) -> Option<u64> {
        let _ = candidates;
        None
    }

    /// Tells judges apart by where they live. Handles answer for what they point to.
    #[doc(hidden)]
    fn identity(&self) -> (usize, &'static str) {
        let address = std::ptr::from_ref(self).cast::<()>().addr();
        (address, std::any::type_name::<Self>())
    }

    /// The judge itself, for code that knows its type; handles answer for what they point to.
    #[doc(hidden)]
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        None
    }
}

impl fmt::Debug for dyn Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

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

/// The user's last words, and what has been done about them since.
///
/// ```
/// use cupel::relevance::Question;
///
/// let question = Question::new("Why was my card charged twice?").since("looked up order 7731");
/// assert_eq!(question.text(), "Why was my card charged twice?");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Question {
    text: Arc<str>,
    since: Option<Arc<str>>,
}

impl Question {
    /// A question in the user's words.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), since: None }
    }

    /// Adds what an agent has done since it was asked: its calls, and the newest results. A judge
    /// gives these words less weight.
    pub fn since(mut self, text: impl Into<Arc<str>>) -> Self {
        self.since = Some(text.into());
        self
    }

    /// The question without what was done since.
    pub fn alone(mut self) -> Self {
        self.since = None;
        self
    }

    /// The user's words.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Text of the work since the question.
    #[must_use]
    pub fn work(&self) -> Option<&str> {
        self.since.as_deref()
    }
}

impl<T: Into<Arc<str>>> From<T> for Question {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// Texts that have to be judged by a question. It owns them, so it can go to another thread.
///
/// ```
/// use cupel::relevance::{JudgeTask, Lexical, Question};
///
/// let mut task = JudgeTask::new(Question::new("Where is my parcel?"));
/// task.add(4, Some(0), |text| text.push_str("The parcel is in Lyon."));
/// task.add(2, Some(1), |text| text.push_str("Thank you!"));
/// let verdict = task.run(&Lexical::new()).unwrap().expect("the question has words");
/// assert!(verdict.hints[0].value() > verdict.hints[1].value());
/// ```
#[derive(Debug, Clone)]
pub struct JudgeTask {
    question: Question,
    /// All texts in a row.
    texts: String,
    /// End of each text, its tokens and its place in the conversation.
    candidates: Vec<(usize, i64, Option<usize>)>,
}

impl JudgeTask {
    /// A task without texts.
    #[must_use]
    pub fn new(question: Question) -> Self {
        Self { question, texts: String::new(), candidates: Vec::new() }
    }

    /// A task about items, with the text that `write` appends for each. Messages and tool outputs are
    /// taken to be a conversation in the order of the list.
    pub(crate) fn of_items(
        question: Question,
        items: &[ContextItem],
        mut write: impl FnMut(usize, &ContextItem, &mut String),
    ) -> Self {
        let mut task = Self::new(question);
        for (index, item) in items.iter().enumerate() {
            let place = is_said(item).then_some(index);
            task.add(item.tokens(), place, |out| write(index, item, out));
        }
        task
    }

    /// A task about the contents of items.
    pub(crate) fn of_contents(question: &Question, items: &[ContextItem]) -> Self {
        Self::of_items(question.clone(), items, |_, item, out| out.push_str(item.content()))
    }

    /// Adds a text, which `write` appends to the string that it is given.
    pub fn add(&mut self, tokens: i64, place: Option<usize>, write: impl FnOnce(&mut String)) {
        write(&mut self.texts);
        self.candidates.push((self.texts.len(), tokens, place));
    }

    /// The texts, in the order in which they were added.
    #[must_use]
    pub fn candidates(&self) -> Vec<Candidate<'_>> {
        let mut start = 0;
        let candidate = |(end, tokens, place): &(usize, i64, Option<usize>)| {
            let text = self.texts.get(start..*end).unwrap_or_default();
            start = *end;
            Candidate { text, tokens: *tokens, place: *place }
        };
        self.candidates.iter().map(candidate).collect()
    }

    /// Number of texts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.candidates.len()
    }

    /// Returns true if there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.candidates.is_empty()
    }

    /// The question.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// All texts in a row, which tell this task from others.
    pub(crate) fn all_texts(&self) -> &str {
        &self.texts
    }

    /// Asks a judge here. None if the question has nothing to go by.
    ///
    /// # Errors
    ///
    /// The word "panicked" if the judge did. Its message may quote a text, so it is not repeated.
    pub fn run(&self, judge: &dyn Judge) -> Result<Option<Verdict>, String> {
        let judged = || judge.judge(&self.question, &self.candidates());
        caught(judged).map_err(|_| "panicked".to_owned())
    }
}

/// Returns true if an item is a part of the conversation, so that its neighbours are about the same
/// thing.
pub(crate) fn is_said(item: &ContextItem) -> bool {
    *item.kind() == ContextKind::message() || *item.kind() == ContextKind::tool_output()
}
