//! Asks about the beginning of a long conversation: what newest-first and `chat` send, side by side.
//!
//! Run it with `cargo run --example recall`.

use std::error::Error;
use std::io::{self, ErrorKind, Write};

use cupel::relevance::{Lexical, Question};
use cupel::{
    AgePlacer, AgeScorer, BestFirstSlice, ContextBudget, ContextItem, OverflowStrategy, Policy,
    SelectionReport,
};

/// A house is renovated, over two hundred messages; written for this example.
const CONVERSATION: &str = include_str!("../recall/conversation.json");

/// Of some nine thousand tokens.
const BUDGET: i64 = 600;

fn main() -> Result<(), Box<dyn Error>> {
    match recall(&mut io::stdout().lock()) {
        // `| head` has read enough.
        Err(error) if is_broken_pipe(&*error) => Ok(()),
        shown => shown,
    }
}

fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

fn recall(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let conversation: serde_json::Value = serde_json::from_str(CONVERSATION)?;
    let list = |field: &str| conversation.get(field).and_then(serde_json::Value::as_array);
    let text = |value: &serde_json::Value, field: &str| {
        value.get(field).and_then(|text| text.as_str()).unwrap_or_default().to_owned()
    };
    let mut items = Vec::new();
    for message in list("messages").into_iter().flatten() {
        let content = text(message, "content");
        let tokens = (content.chars().count() / 4 + 4) as i64;
        items.push(ContextItem::new(content, tokens)?);
    }
    let budget = ContextBudget::builder(BUDGET).build()?;
    let newest_first = Policy::builder()
        .scorer(AgeScorer)
        .slicer(BestFirstSlice)
        .placer(AgePlacer)
        .overflow_strategy(OverflowStrategy::Truncate)
        .build()?;

    let all: i64 = items.iter().map(ContextItem::tokens).sum();
    writeln!(out, "{} messages of {all} tokens, a budget of {BUDGET}\n", items.len())?;
    for asked in list("questions").into_iter().flatten() {
        let question = Question::new(text(asked, "question"));
        let answers: Vec<usize> = asked
            .get("answers")
            .and_then(serde_json::Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|number| usize::try_from(number.as_u64()?).ok())
            .collect();
        writeln!(out, "── {} ──", question.text())?;
        let newest = newest_first.dry_run(&items, &budget)?;
        show(out, "newest first", &newest, &items, &answers, None)?;
        let chat = Policy::chat().dry_run_for(&question, &items, &budget)?;
        show(out, "chat", &chat, &items, &answers, Some(&question))?;
        writeln!(out)?;
    }
    Ok(())
}

/// One way's selection: what it has of the answer, and its best messages with the words marked.
fn show(
    out: &mut impl Write,
    name: &str,
    report: &SelectionReport,
    items: &[ContextItem],
    answers: &[usize],
    question: Option<&Question>,
) -> io::Result<()> {
    let number = |item: &ContextItem| items.iter().position(|it| ContextItem::same(it, item));
    let sent: Vec<usize> =
        report.included.iter().filter_map(|it| Some(number(&it.item)? + 1)).collect();
    let found = answers.iter().filter(|answer| sent.contains(answer)).count();
    let range = |end: Option<&usize>| end.copied().unwrap_or_default();
    writeln!(
        out,
        "{name:>13}: {} messages, {} to {}; the answer: {found} of {} messages",
        sent.len(),
        range(sent.first()),
        range(sent.last()),
        answers.len(),
    )?;
    let Some(question) = question else { return Ok(()) };
    let mut best: Vec<_> = report.included.iter().collect();
    best.sort_by(|a, b| b.score.total_cmp(&a.score));
    for included in best.into_iter().take(4) {
        let at = number(&included.item).map_or(0, |at| at + 1);
        let mark = if answers.contains(&at) { '✓' } else { ' ' };
        let hint = included.item.future_relevance_hint().unwrap_or_default();
        let because: Vec<&str> = included.item.matched_words().collect();
        let because = if because.is_empty() { "its neighbours".into() } else { because.join(", ") };
        writeln!(out, "{mark:>13} {at:>3}  {hint:.2}  because of {because}")?;
        writeln!(out, "{:>19}{}", "", marked(question, included.item.content()))?;
    }
    Ok(())
}

/// The text with the question's words between asterisks, as much as a line holds.
fn marked(question: &Question, text: &str) -> String {
    let mut line = String::new();
    let mut end = 0;
    for mark in Lexical::new().marks(question, text) {
        line.push_str(text.get(end..mark.start).unwrap_or_default());
        line.push('*');
        line.push_str(text.get(mark.clone()).unwrap_or_default());
        line.push('*');
        end = mark.end;
    }
    line.push_str(text.get(end..).unwrap_or_default());
    match line.char_indices().nth(140) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default()),
        None => line,
    }
}
