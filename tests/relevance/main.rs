//! Verdicts of the judges, and their effects.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod bad_input;
mod conversation;
#[cfg(feature = "layer")]
mod embeddings;
#[cfg(feature = "layer")]
mod layer;
mod policy;
#[cfg(feature = "layer")]
mod pool;
#[cfg(feature = "layer")]
mod waiting;
mod words;

use cupel::relevance::{Candidate, Hint, Judge, Lexical, Question};

/// The hints of texts that stand alone.
fn hints(question: &str, texts: &[&str]) -> Vec<Hint> {
    let candidates: Vec<_> = texts.iter().map(|text| Candidate::new(text, 10)).collect();
    let verdict = Lexical::new().judge(&Question::new(question), &candidates);
    verdict.map_or(vec![Hint::default(); texts.len()], |verdict| verdict.hints)
}

fn words(hint: &Hint) -> Vec<&str> {
    hint.words().collect()
}

#[test]
fn judges_go_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Lexical>();
    shared::<Question>();
    shared::<Hint>();
    shared::<cupel::relevance::Verdict>();
    shared::<Box<dyn Judge>>();
}
