//! A local model, a tool, a task for both, and ways to look at what is sent.

#![allow(dead_code)] // each test binary uses some of it

pub(crate) mod embed;
pub(crate) mod model;
pub(crate) mod record;
pub(crate) mod tools;

use cupel::tokens::{CounterFn, counter_fn};

/// One token a word: easy to reckon with.
pub(crate) fn words() -> CounterFn<fn(&str) -> i64> {
    counter_fn("words", word_count)
}

pub(crate) fn word_count(text: &str) -> i64 {
    text.split_whitespace().count() as i64
}

/// So many words.
pub(crate) fn filler(words: usize) -> String {
    vec!["word"; words].join(" ")
}
