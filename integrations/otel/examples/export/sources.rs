//! Sources of the agent: its history, this crate's README, and a wiki that is too slow.

use std::collections::HashSet;
use std::convert::Infallible;
use std::time::Duration;

use cupel::gather::Source;
use cupel::tokens::{HeuristicCounter, TokenCounter};
use cupel::{ContextItem, ContextKind, CupelError};

use crate::Prompt;

/// Earlier messages.
const HISTORY: [&str; 4] = [
    "We run the agent in production now.",
    "Good. Which traces do you keep?",
    "All of them, and the security team has seen whole prompts in there.",
    "Then the first thing is to find out which spans carry the content.",
];

pub(crate) fn history() -> Source<Prompt> {
    let item = |(position, text): (usize, &str)| {
        let builder = ContextItem::builder(text, HeuristicCounter.count(text));
        builder.kind(ContextKind::message()).future_relevance_hint(0.2 * position as f64).build()
    };
    Source::list("history", move |_: &Prompt| async move {
        HISTORY.into_iter().enumerate().map(item).collect::<Result<Vec<_>, CupelError>>()
    })
    .required()
}

/// Paragraphs of the README, by how many of the question's words they share.
pub(crate) fn documentation() -> Source<Prompt> {
    Source::list("documentation", |prompt: &Prompt| {
        let question = words(&prompt.payload);
        async move {
            tokio::time::sleep(Duration::from_millis(15)).await; // the way to the index
            let paragraphs = include_str!("../../README.md").split("\n\n").map(str::trim);
            let paragraphs = paragraphs.filter(|text| text.len() > 40);
            let item = |text: &str| {
                let shared = words(text).intersection(&question).count();
                let relevance = shared as f64 / question.len().max(1) as f64;
                ContextItem::builder(text, HeuristicCounter.count(text))
                    .kind(ContextKind::document())
                    .future_relevance_hint(relevance)
                    .build()
            };
            paragraphs.map(item).collect::<Result<Vec<_>, CupelError>>()
        }
    })
}

/// Does not answer in time.
pub(crate) fn wiki() -> Source<Prompt> {
    Source::list("wiki", |_: &Prompt| async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok::<_, Infallible>(Vec::new())
    })
}

fn words(text: &str) -> HashSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3);
    words.map(str::to_lowercase).collect()
}
