//! Asks about the beginning of a long conversation: what newest-first and `chat` send, side by side. Then it
//! shows what the plan of `chat` sends of the user's standing orders, whatever is asked.
//!
//! Run it with `cargo run --example recall`.

use std::error::Error;
use std::io::{self, ErrorKind, Write};

use cupel::conversation::{Conversation, Message, Rehearsal, Role, Rules};
use cupel::placer::AgePlacer;
use cupel::relevance::{Lexical, Question};
use cupel::scorer::AgeScorer;
use cupel::slicer::BestFirstSlice;
use cupel::{ContextBudget, ContextItem, OverflowStrategy, Policy, SelectionReport};

/// A house is renovated, over two hundred messages; written for this example.
const CONVERSATION: &str = include_str!("recall_conversation.json");

/// Tokens of the window; the conversation has about nine thousand.
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
    let mut messages = Vec::new();
    for message in list("messages").into_iter().flatten() {
        let content = text(message, "content");
        let tokens = (content.chars().count() / 4 + 4) as i64;
        let is_user = text(message, "role") == "user";
        let role = if is_user { Role::User } else { Role::Assistant };
        messages.push(Message::new(role, content.clone(), tokens));
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
    writeln!(out, "{} messages of {all} tokens, a budget of {BUDGET}.", items.len())?;
    writeln!(out, "✓ has the answer. The best of each way, with the question's words marked:\n")?;
    let mut found = [0; 2];
    let mut wanted = 0;
    for asked in list("questions").into_iter().flatten() {
        let question = Question::new(text(asked, "question"));
        let answers = asked.get("answers").and_then(serde_json::Value::as_array);
        let answers = answers.into_iter().flatten();
        let answers: Vec<usize> =
            answers.filter_map(|number| usize::try_from(number.as_u64()?).ok()).collect();
        let newest = newest_first.dry_run(&items, &budget)?;
        let chat = Policy::chat().dry_run_for(&question, &items, &budget)?;
        let columns = [("newest first", newest), ("chat", chat)]
            .map(|(name, report)| Column::new(name, &report, &items, &answers, &question));
        writeln!(out, "── {} ──", question.text())?;
        side_by_side(out, &columns)?;
        wanted += answers.len();
        for (sum, column) in found.iter_mut().zip(&columns) {
            *sum += column.found;
        }
    }
    let [newest, chat] = found;
    writeln!(
        out,
        "Of {wanted} messages with an answer, newest first sends {newest} and chat {chat}."
    )?;
    standing_orders(out, messages)
}

/// Window of the plan.
const WINDOW: i64 = 2_000;

/// Plans one more turn, and shows the user's standing orders in it.
fn standing_orders(out: &mut impl Write, mut messages: Vec<Message>) -> Result<(), Box<dyn Error>> {
    messages.push(Message::new(Role::User, "What do the blinds cost?", 10));
    let rehearsal = Rehearsal::new(Conversation::new(messages, &Rules::new())?)?;
    let budget = ContextBudget::builder(WINDOW).build()?;
    let turn = rehearsal.dry_run(&Policy::chat(), &budget)?;
    writeln!(out, "\nStanding orders in a window of {WINDOW} tokens, sent whatever is asked:\n")?;
    let text = turn.edits.standing().map_or("none", |standing| &*standing.text);
    writeln!(out, "{}", text.trim_end())?;
    Ok(())
}

/// Messages that one way sends.
struct Column {
    lines: Vec<String>,
    /// Number of sent messages with the answer.
    found: usize,
}

/// The best messages that are shown; those with the answer are shown in any case.
const SHOWN: usize = 3;
const WIDTH: usize = 62;

impl Column {
    fn new(
        name: &str,
        report: &SelectionReport,
        items: &[ContextItem],
        answers: &[usize],
        question: &Question,
    ) -> Self {
        let number = |item: &ContextItem| {
            items.iter().position(|it| ContextItem::same(it, item)).map_or(0, |at| at + 1)
        };
        let mut sent: Vec<_> =
            report.included.iter().map(|it| (number(&it.item), it.score, &it.item)).collect();
        sent.sort_by(|a, b| b.1.total_cmp(&a.1));
        let has_answer = |at: &usize| answers.contains(at);
        let found = sent.iter().filter(|(at, ..)| has_answer(at)).count();
        let of = answers.len();
        let mut lines = vec![format!("{name}: {} messages, {found} of {of} answers", sent.len())];
        for (rank, (at, _, item)) in sent.into_iter().enumerate() {
            if rank >= SHOWN && !has_answer(&at) {
                continue;
            }
            let mark = if has_answer(&at) { '✓' } else { ' ' };
            let words: Vec<&str> = item.matched_words().collect();
            let why = match item.future_relevance_hint() {
                None => String::new(),
                Some(hint) if words.is_empty() => format!("  {hint:.2} by its neighbours"),
                Some(hint) => format!("  {hint:.2} because of {}", words.join(", ")),
            };
            lines.push(cut(&format!("{mark}{at:>4}{why}")));
            lines.push(format!("      {}", marked(question, item.content())));
        }
        Self { lines, found }
    }
}

fn side_by_side(out: &mut impl Write, [left, right]: &[Column; 2]) -> io::Result<()> {
    for row in 0..left.lines.len().max(right.lines.len()) {
        let line = |column: &Column| column.lines.get(row).cloned().unwrap_or_default();
        let row = format!("{:WIDTH$} │ {}", line(left), line(right));
        writeln!(out, "{}", row.trim_end())?;
    }
    writeln!(out)
}

/// The text from shortly before the question's first word on, with its words between asterisks.
fn marked(question: &Question, text: &str) -> String {
    let marks = Lexical::new().marks(question, text);
    let first = marks.first().map_or(0, |mark| mark.start);
    let before = text.get(..first).unwrap_or_default();
    let start = before.char_indices().rev().nth(12).map_or(0, |(at, _)| at);
    let start = text.get(start..first).and_then(|it| it.find(' ')).map_or(0, |at| start + at + 1);
    let mut line = if start > 0 { "…".to_owned() } else { String::new() };
    let mut end = start;
    for mark in marks {
        line.push_str(text.get(end..mark.start).unwrap_or_default());
        line.push('*');
        line.push_str(text.get(mark.clone()).unwrap_or_default());
        line.push('*');
        end = mark.end;
    }
    line.push_str(text.get(end..).unwrap_or_default());
    cut(&line)
}

/// As much as a column holds.
fn cut(line: &str) -> String {
    match line.char_indices().nth(WIDTH - 7) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}
