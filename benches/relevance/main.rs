//! Cost of judging by the question.
//!
//! `cargo bench --bench relevance` prints one table; rows are measured in one run, in alternating
//! rounds, and hold medians. `-- --quick` takes fewer rounds. A *first turn* is one of texts that the
//! process has not seen; a *second turn* is the same with one new message.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

mod meaning;
mod texts;

use std::hint::black_box;
use std::time::Instant;

use bm25::{Language, SearchEngineBuilder};
use cupel::placer::AgePlacer;
use cupel::relevance::{Candidate, Judge, Lexical, Question};
use cupel::scorer::{AgeScorer, CompositeScorer, KindScorer};
use cupel::{ContextBudget, ContextItem, GreedySlice, Pipeline, PriorityScorer};
use cupel_dev::table::{Goal, Row, show};
use cupel_dev::{Effort, median};
use texts::Texts;

fn main() {
    let effort = Effort::from_arguments();
    let few = 100;
    let many = effort.pick(300, 10_000, 10_000);
    let most = effort.pick(600, 100_000, 100_000);
    let rounds = effort.pick(1, 3, 9);
    let mut texts = Texts::new();
    let question = Question::new(texts.question());

    let (mut first, mut rival, mut second, mut selecting) = (vec![], vec![], vec![], vec![]);
    for _ in 0..rounds {
        let fresh = texts.take(many);
        rival.push(timed(|| ask_bm25(&fresh, question.text())));
        first.push(timed(|| judge(&fresh, &question)));
        let mut grown = fresh.clone();
        grown.extend(texts.take(1));
        second.push(timed(|| judge(&grown, &question)));
        let items = items(&grown);
        let pipeline = pipeline();
        let budget = ContextBudget::builder(100_000).build().unwrap();
        selecting.push(timed(|| pipeline.run(&items, &budget).unwrap()));
    }
    let (first, second) = (median(first), median(second));
    let (rival, selecting) = (median(rival), median(selecting));

    let known = texts.take(few);
    let known_items = items(&known);
    let (pipeline, budget) = (pipeline(), ContextBudget::builder(2_000).build().unwrap());
    judge(&known, &question);
    let repeats = effort.pick(1, 200, 1_000);
    let (mut small, mut small_selecting) = (vec![], vec![]);
    for _ in 0..repeats {
        small.push(timed(|| judge(&known, &question)));
        small_selecting.push(timed(|| pipeline.run(&known_items, &budget).unwrap()));
    }

    let talk = texts.take(effort.pick(100, 1_000, 1_000));
    let by_meaning = meaning::Meaning::new();
    by_meaning.judge_with_words(&talk, &question);
    let (mut words_alone, mut with_meaning) = (vec![], vec![]);
    for _ in 0..repeats {
        words_alone.push(timed(|| judge(&talk, &question)));
        with_meaning.push(timed(|| by_meaning.judge_with_words(&talk, &question)));
    }

    let before = Lexical::remembered();
    let large = texts.take(most);
    let mut large_first = vec![timed(|| judge(&large, &question))];
    let after = Lexical::remembered();
    for _ in 1..effort.pick(1, 1, 3) {
        let large = texts.take(most);
        large_first.push(timed(|| judge(&large, &question)));
    }
    let bytes = after.1.saturating_sub(before.1) as f64;
    let per_message = bytes / after.0.saturating_sub(before.0).max(1) as f64;

    show(
        "relevance",
        "ms",
        env!("CARGO_TARGET_TMPDIR"),
        &[
            Row::new("first turn", many, first, "crate bm25", rival, Goal::Faster(5.0)),
            Row::new("second turn", many, second, "first turn", first, Goal::AtMost(0.1)),
            Row::new("second turn", many, second, "Pipeline::run", selecting, Goal::AtMost(3.0)),
            Row::new(
                "known messages",
                few,
                median(small),
                "Pipeline::run",
                median(small_selecting),
                Goal::AtMost(10.0),
            ),
            Row::new(
                "words and a model, known",
                talk.len(),
                median(with_meaning),
                "words alone",
                median(words_alone),
                Goal::AtMost(2.0),
            ),
            Row::new(
                "first turn",
                most,
                median(large_first),
                "a tenth of it",
                first,
                Goal::AtMost(16.0),
            ),
        ],
    );
    println!("\nThe cache takes {per_message:.0} bytes a message of 60 words.");
}

fn timed<T>(work: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    black_box(work());
    start.elapsed().as_secs_f64() * 1_000.0
}

fn judge(texts: &[String], question: &Question) -> usize {
    let candidates: Vec<Candidate<'_>> =
        texts.iter().enumerate().map(|(at, text)| Candidate::new(text, 60).at(at)).collect();
    Lexical::new().judge(question, &candidates).unwrap().hints.len()
}

fn ask_bm25(texts: &[String], question: &str) -> usize {
    let engine = SearchEngineBuilder::<u32>::with_corpus(Language::English, texts).build();
    engine.search(question, 100).len()
}

fn items(texts: &[String]) -> Vec<ContextItem> {
    texts.iter().map(|text| ContextItem::new(text.as_str(), 60).unwrap()).collect()
}

fn pipeline() -> Pipeline {
    let scorer = CompositeScorer::builder()
        .add(AgeScorer, 3.0)
        .add(PriorityScorer, 1.0)
        .add(KindScorer::default(), 1.0)
        .build()
        .unwrap();
    let pipeline = Pipeline::builder().scorer(scorer).slicer(GreedySlice).placer(AgePlacer);
    pipeline.build().unwrap()
}
