//! What is printed: each question, each call with what was dropped and why, and the answer.

use std::io::{Result, Write};

use cupel::layer::Selection;

/// Sums over all calls.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    calls: usize,
    dropped: usize,
    largest: i64,
}

pub(crate) fn question(out: &mut impl Write, question: &str) -> Result<()> {
    writeln!(out, "\nuser: {question}")
}

pub(crate) fn answer(out: &mut impl Write, answer: &str) -> Result<()> {
    writeln!(out, "model: {answer}")
}

pub(crate) fn tool(out: &mut impl Write, name: &str, arguments: &str) -> Result<()> {
    writeln!(out, "tool: {name}({arguments})")
}

pub(crate) fn selection(
    out: &mut impl Write,
    messages: usize,
    selection: &Selection,
    totals: &mut Totals,
) -> Result<()> {
    let sent: i64 = selection.report.included.iter().map(|one| one.item.tokens()).sum();
    let sent = sent + selection.fixed_tokens;
    totals.calls += 1;
    totals.dropped += selection.report.excluded.len();
    totals.largest = totals.largest.max(sent);
    writeln!(
        out,
        "  -> {messages} messages, {} units of which {} dropped, {sent} tokens sent",
        selection.report.total_candidates,
        selection.report.excluded.len(),
    )?;
    for excluded in &selection.report.excluded {
        let text = excluded.item.content().replace('\n', " / ");
        let text: String = text.chars().take(64).collect();
        writeln!(out, "     - {text} ({})", excluded.reason)?;
    }
    Ok(())
}

pub(crate) fn totals(
    out: &mut impl Write,
    totals: &Totals,
    messages: usize,
    window: i64,
) -> Result<()> {
    let Totals { calls, dropped, largest } = totals;
    writeln!(
        out,
        "\n{calls} calls of the model over {messages} messages; {dropped} times a unit was \
         dropped; the largest request had {largest} of {window} tokens."
    )
}
