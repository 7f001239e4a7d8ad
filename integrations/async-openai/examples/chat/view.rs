//! Prints each question, each call with the dropped messages and the reasons, and the answer.

use std::io::{Result, Write};

use cupel::conversation::plan::Part;
use cupel::explain::{Explanation, Section};
use cupel::layer::Selection;

/// Sums over all calls.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    calls: usize,
    dropped: usize,
    largest: i64,
    cached: i64,
    new: i64,
    /// The call before.
    last: Option<Explanation>,
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

/// Prints the sent messages, and the changes since the previous call.
pub(crate) fn selection(
    out: &mut impl Write,
    messages: usize,
    selection: &Selection,
    totals: &mut Totals,
) -> Result<()> {
    let explanation = selection.explain();
    totals.calls += 1;
    totals.dropped += selection.sent.left_out;
    totals.largest = totals.largest.max(selection.sent.tokens + selection.fixed_tokens);
    writeln!(out, "  -> {messages} messages")?;
    if let Some(plan) = &selection.plan {
        totals.cached += plan.cached_tokens;
        totals.new += plan.new_tokens;
        let prefix = match plan.broke {
            None => "same prefix as the previous call".to_owned(),
            Some(why) => format!("new prefix: {why}"),
        };
        writeln!(
            out,
            "     {prefix}; {} tokens can be cached, {} are new, {} recalled",
            plan.cached_tokens, plan.new_tokens, plan.recalled_tokens,
        )?;
        for entry in &selection.report.included {
            if plan.part_of(&entry.item) != Some(Part::Earlier) {
                continue;
            }
            let words: Vec<&str> = entry.item.matched_words().collect();
            let why = if words.is_empty() {
                "newest message that fits".to_owned()
            } else {
                words.join(", ")
            };
            let line = entry.item.content().lines().next().unwrap_or_default();
            writeln!(out, "     recalled: {line:.60} ({why})")?;
        }
    }
    let sections = [Section::Brief, Section::Changes];
    let text = explanation.text().previous(totals.last.as_ref()).sections(&sections);
    write!(out, "{}", text.for_stdout())?;
    totals.last = Some(explanation);
    Ok(())
}

pub(crate) fn totals(
    out: &mut impl Write,
    totals: &Totals,
    messages: usize,
    window: i64,
) -> Result<()> {
    let Totals { calls, dropped, largest, cached, new, .. } = totals;
    let share = 100 * cached / (cached + new).max(1);
    writeln!(
        out,
        "\n{calls} calls of the model over {messages} messages; {dropped} units dropped; the \
         largest request had {largest} of {window} tokens; {cached} of the sent tokens \
         ({share} %) could be cached, {new} were new."
    )
}
