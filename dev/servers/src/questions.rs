//! Shared code of the tests of all adapters: a judge that records its questions, and a long
//! conversation with the answer at its beginning.

use std::sync::{Arc, Mutex};

use cupel::Policy;
use cupel::policy::Relevance;
use cupel::relevance::{Candidate, Judge, Question, Verdict};

/// Question that a judge got.
#[derive(Debug, Clone, PartialEq)]
pub struct Heard {
    /// The user's words.
    pub text: String,
    /// Text of the steps since the question.
    pub work: Option<String>,
    /// The texts it was to judge.
    pub candidates: Vec<String>,
}

/// Notes down what it is asked, and says nothing.
#[derive(Debug, Clone, Default)]
pub struct Listener(Arc<Mutex<Vec<Heard>>>);

impl Listener {
    /// The same policy with this judge.
    pub fn on(&self, policy: Policy) -> Policy {
        policy.with_relevance(Relevance::new(self.clone()))
    }

    /// Takes the questions since the last call.
    pub fn take(&self) -> Vec<Heard> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Judge for Listener {
    fn judge(&self, question: &Question, candidates: &[Candidate<'_>]) -> Option<Verdict> {
        self.0.lock().unwrap().push(Heard {
            text: question.text().to_owned(),
            work: question.work().map(str::to_owned),
            candidates: candidates.iter().map(|candidate| candidate.text.to_owned()).collect(),
        });
        None
    }
}

pub const QUESTION: &str = "Where did we put the spare key of the boat house?";
pub const ANSWER: &str = "The boat house key hangs behind the blue clock.";

/// 200 messages, the user's and the assistant's in turn. Number 12 has the answer, if there is one.
pub fn talk() -> Vec<String> {
    let text = |number: usize| match number {
        12 => ANSWER.to_owned(),
        _ => format!("Day {number}: rain until noon, then soup, and a walk around the lake again."),
    };
    (1..=200).map(text).collect()
}
