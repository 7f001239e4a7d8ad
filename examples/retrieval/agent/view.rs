//! Prints the loop for people: what each call gathered, selected and left out, and what it led to.

use std::io::{self, Write};
use std::time::Duration;

use cupel::explain::Explanation;
use cupel::layer::Selection;
use cupel::{ContextItem, ExcludedItem};

use super::history::{Role, role, turn};
use super::model::{Reply, Says};
use super::tools::{Call, Tool};
use super::words::{has_all, words};
use crate::table::{Paint, WIDTH, clip, wrap};

/// Where the text of a labelled line begins.
const INDENT: usize = 12;

/// Writes to a terminal or a pipe.
pub(crate) struct View<W> {
    pub(crate) out: W,
    pub(crate) paint: Paint,
    /// The call before.
    pub(crate) last: Option<Explanation>,
}

impl<W: Write> View<W> {
    /// A title with a rule and a note at the right end.
    pub(crate) fn heading(&mut self, title: &str, note: &str) -> io::Result<()> {
        let note = if note.is_empty() { String::new() } else { format!(" {note}") };
        let rule = WIDTH.saturating_sub(title.chars().count() + note.chars().count() + 1);
        let rule = self.paint.faint(&format!("{}{note}", "─".repeat(rule)));
        writeln!(self.out, "\n{} {rule}", self.paint.title(title))
    }

    /// `label  text`, the text wrapped under itself.
    pub(crate) fn line(&mut self, label: &str, text: &str) -> io::Result<()> {
        for (number, line) in wrap(text, WIDTH - INDENT).iter().enumerate() {
            let label = if number == 0 { label } else { "" };
            writeln!(self.out, "  {}{line}", self.paint.faint(&format!("{label:<10}")))?;
        }
        Ok(())
    }

    /// The same on one line, cut where it ends.
    fn short(&mut self, label: &str, text: &str) -> io::Result<()> {
        self.line(label, &clip(text, WIDTH - INDENT))
    }

    /// How one call to the model was selected, and what changed since the one before.
    pub(crate) fn call(
        &mut self,
        number: usize,
        selection: &Selection,
        elapsed: Duration,
    ) -> io::Result<()> {
        let explanation = selection.explain();
        let title = format!("call {number}, {}", millis(elapsed));
        writeln!(self.out, "\n  {}", self.paint.faint(&title))?;
        let text = explanation.text().previous(self.last.as_ref()).brief().for_stdout();
        write!(self.out, "{text}")?;
        self.last = Some(explanation);
        Ok(())
    }

    /// A tool call, its output, and whether the layer had the fact and left it out.
    pub(crate) fn tool(
        &mut self,
        call: &Call,
        output: &str,
        selection: &Selection,
    ) -> io::Result<()> {
        if let Some(missed) = missed(call, &selection.report.excluded) {
            let (name, reason) = (name(&missed.item), missed.reason.name());
            let text = format!("{name} says it, but was left out: {reason}");
            writeln!(self.out, "  {}{text}", self.paint.warn("missed    "))?;
        }
        self.short("calls", &call.to_string())?;
        for (number, line) in output.lines().enumerate() {
            self.short(if number == 0 { "  output" } else { "" }, line)?;
        }
        Ok(())
    }

    /// The answer, and what the model would have said without the first thing it quotes.
    pub(crate) fn answer(
        &mut self,
        text: &str,
        without: Option<&(ContextItem, Reply)>,
    ) -> io::Result<()> {
        writeln!(self.out)?;
        let answer = self.paint.title("answer");
        for (number, line) in wrap(text, WIDTH - INDENT).iter().enumerate() {
            // The label is painted after padding: colour codes have no width.
            let label = if number == 0 { format!("{answer}    ") } else { " ".repeat(10) };
            writeln!(self.out, "  {label}{line}")?;
        }
        let Some((item, reply)) = without else {
            return Ok(());
        };
        let instead = match &reply.says {
            Says::Call(call) => format!("it would call {call}"),
            Says::Answer(text) => format!("it would answer: {text}"),
        };
        self.short("without", &format!("{} {instead}", name(item)))
    }
}

/// A left-out passage that has every word the model now searches for.
fn missed<'a>(call: &Call, excluded: &'a [ExcludedItem]) -> Option<&'a ExcludedItem> {
    let wanted = words(&call.argument);
    let mut retrieved = excluded.iter().filter(|entry| role(&entry.item).is_none());
    retrieved.find(|entry| call.tool == Tool::SearchFiles && has_all(entry.item.content(), &wanted))
}

/// What an item is called in a sentence.
fn name(item: &ContextItem) -> String {
    let what = match role(item) {
        None => return item.content().split(": ").next().unwrap_or_default().to_owned(),
        Some(Role::Asked) => "question",
        Some(Role::Output) => "tool output",
        Some(Role::Note) => "note",
        Some(_) => "item",
    };
    format!("the {what} of turn {}", turn(item))
}

/// Milliseconds with one decimal, as wide as they are.
pub(crate) fn millis(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1_000.0)
}
