//! A question and the texts to judge by it, so that a judge can run elsewhere.

use super::apply::is_said;
use super::{Candidate, Judge, Question, Verdict};
use crate::caught::caught;
use crate::model::ContextItem;

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
