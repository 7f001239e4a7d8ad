//! Prints the loop for people: what the plan of each call did, and what it led to.

use std::io::{self, Write};
use std::time::Duration;

use cupel::conversation::plan::Part;
use cupel::layer::{Selection, TurnReport};
use cupel::{ContextItem, ContextKind};

use super::model::{Reply, Says};
use super::tools::Call;
use cupel_dev::terminal::{Paint, WIDTH, clip, thousands, wrap};

/// Column at which the text of a labelled line begins.
const INDENT: usize = 12;
/// Number of recalled items that are listed, the most relevant first.
const LISTED: usize = 3;

/// Writes to a terminal or a pipe.
pub(crate) struct View<W> {
    pub(crate) out: W,
    pub(crate) paint: Paint,
    /// Texts recalled in the previous call.
    pub(crate) last: Vec<String>,
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

    /// Prints the plan of a call: the moves of the cut, cached tokens, and recalled texts with
    /// their reasons.
    pub(crate) fn call(
        &mut self,
        number: usize,
        selection: &Selection,
        elapsed: Duration,
    ) -> io::Result<()> {
        let title = format!("call {number}, {}", millis(elapsed));
        writeln!(self.out, "\n  {}", self.paint.faint(&title))?;
        let Some(plan) = selection.plan.as_deref() else {
            return self.line("plan", "none");
        };
        let sent = plan.cached_tokens + plan.new_tokens;
        let begins = match plan.broke {
            None => "same prefix as the previous call".to_owned(),
            Some(why) => format!("new prefix: {why}"),
        };
        let (cached, share) = (thousands(plan.cached_tokens), percent(plan.cached_tokens, sent));
        let sent = thousands(sent);
        self.line("sent", &format!("{sent} tokens, {cached} ({share} %) can be cached; {begins}"))?;
        self.line("plan", &parts(plan))?;
        self.recalled(selection, plan)
    }

    fn recalled(&mut self, selection: &Selection, plan: &TurnReport) -> io::Result<()> {
        let included = selection.report.included.iter().map(|entry| &entry.item);
        let is_recalled =
            |item: &&ContextItem| plan.part_of(item).is_none_or(|part| part == Part::Earlier);
        let recalled: Vec<&ContextItem> = included.filter(is_recalled).collect();
        let (tokens, share) = (thousands(plan.recalled_tokens), thousands(plan.share));
        if recalled.is_empty() {
            return Ok(());
        }
        let contents: Vec<String> = recalled.iter().map(|item| item.content().to_owned()).collect();
        if contents == self.last {
            return self.line("recalled", &format!("{tokens} of {share} tokens, as before"));
        }
        self.last = contents;
        let sources = recalled.iter().filter(|item| plan.part_of(item).is_none()).count();
        let text = format!(
            "{tokens} of {share} tokens: {} messages from before the cut, {sources} from sources",
            recalled.len() - sources,
        );
        self.line("recalled", &text)?;
        // The rest fills what room there is: the newest of what was said, and what sources found.
        let mut matched: Vec<&ContextItem> =
            recalled.into_iter().filter(|item| item.matched_words().next().is_some()).collect();
        let hint = |item: &ContextItem| item.future_relevance_hint().unwrap_or_default();
        matched.sort_by(|a, b| hint(b).total_cmp(&hint(a)));
        for item in matched.into_iter().take(LISTED) {
            self.short("", &matched_line(item))?;
        }
        Ok(())
    }

    /// A tool call and its output.
    pub(crate) fn tool(&mut self, call: &Call, output: &str) -> io::Result<()> {
        self.short("calls", &call.to_string())?;
        for (number, line) in output.lines().enumerate() {
            self.short(if number == 0 { "  output" } else { "" }, line)?;
        }
        Ok(())
    }

    /// The answer, and what the model would have replied without what was recalled.
    pub(crate) fn answer(&mut self, text: &str, without: Option<&Reply>) -> io::Result<()> {
        writeln!(self.out)?;
        let answer = self.paint.title("answer");
        for (number, line) in wrap(text, WIDTH - INDENT).iter().enumerate() {
            // The label is painted after padding: colour codes have no width.
            let label = if number == 0 { format!("{answer}    ") } else { " ".repeat(10) };
            writeln!(self.out, "  {label}{line}")?;
        }
        match without.map(|reply| &reply.says) {
            None => Ok(()),
            Some(Says::Call(call)) => self.short("without", &format!("it would call {call}")),
            Some(Says::Answer(text)) => self.short("without", &format!("it would answer: {text}")),
        }
    }
}

/// Text of a recalled item, and the words of the question in it.
fn matched_line(item: &ContextItem) -> String {
    let words = item.matched_words().collect::<Vec<_>>().join(", ");
    let who = if *item.kind() == ContextKind::memory() { "memory: " } else { "" };
    let room = (WIDTH - INDENT).saturating_sub(words.chars().count() + who.len() + 3);
    format!("{who}{} ({words})", clip(item.content(), room.max(30)))
}

/// Number of candidates in each part of the plan, in the order of the conversation.
fn parts(plan: &TurnReport) -> String {
    if plan.whole {
        return "the conversation is sent as it is".to_owned();
    }
    let mut runs: Vec<(Part, usize)> = Vec::new();
    for (_, part) in plan.parts() {
        match runs.last_mut() {
            Some((last, count)) if *last == part => *count += 1,
            _ => runs.push((part, 1)),
        }
    }
    let runs: Vec<String> = runs.iter().map(|(part, count)| format!("{part} {count}")).collect();
    let excerpts = match plan.excerpts {
        0 => String::new(),
        number => format!("; results shortened: {number}"),
    };
    format!("{}{excerpts}", runs.join(", "))
}

/// A share in whole percent.
pub(crate) fn percent(part: i64, whole: i64) -> i64 {
    100 * part / whole.max(1)
}

/// Milliseconds with one decimal, as wide as they are.
pub(crate) fn millis(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1_000.0)
}
