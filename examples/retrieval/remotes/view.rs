//! Prints the calls side by side: who arrived when, what was selected from whom, what time bought.

use std::io::{self, Write};
use std::time::Duration;

use cupel::gather::{SourceOutcome, SourceReport};
use cupel::layer::Selection;
use cupel::{ContextItem, IncludedItem};

use crate::table::{Paint, WIDTH, clip, items};

/// Cells of a timeline.
const CELLS: usize = 50;

/// What came of one call.
pub(crate) struct Outcome {
    pub(crate) deadline: Duration,
    pub(crate) elapsed: Duration,
    /// How many items reached the model.
    pub(crate) sent: usize,
    pub(crate) arrivals: Vec<(&'static str, Duration)>,
    pub(crate) selection: Selection,
}

impl Outcome {
    fn selected_from(&self, source: &str) -> impl Iterator<Item = &IncludedItem> {
        let included = self.selection.report.included.iter();
        included.filter(move |entry| entry.item.source().as_str() == source)
    }

    fn left_out_of(&self, source: &str, reason: &str) -> usize {
        let excluded = self.selection.report.excluded.iter();
        let of_source = excluded.filter(|entry| entry.item.source().as_str() == source);
        of_source.filter(|entry| entry.reason.name() == reason).count()
    }

    fn has(&self, wanted: &ContextItem) -> bool {
        self.selection.report.included.iter().any(|entry| entry.item.content() == wanted.content())
    }
}

/// Writes to a terminal or a pipe.
pub(crate) struct View<'a, W> {
    pub(crate) out: W,
    pub(crate) paint: Paint,
    pub(crate) question: &'a str,
}

impl<W: Write> View<'_, W> {
    /// Writes all sections.
    pub(crate) fn print(&mut self, outcomes: &[Outcome]) -> io::Result<()> {
        self.heading(
            "ONE QUESTION, FOUR RETRIEVERS",
            "all optional: what arrives in time is used",
        )?;
        writeln!(self.out, "  question    {}", self.question)?;
        // One scale for all calls, so that they can be compared.
        let longest = outcomes.iter().map(|outcome| outcome.deadline).max();
        for outcome in outcomes {
            self.timeline(outcome, longest.unwrap_or_default())?;
        }
        self.selected(outcomes)?;
        if let [short, long] = outcomes {
            self.bought(short, long)?;
        }
        Ok(())
    }

    pub(super) fn heading(&mut self, title: &str, note: &str) -> io::Result<()> {
        let rule = WIDTH.saturating_sub(title.chars().count() + note.chars().count() + 2);
        let rule = self.paint.faint(&"─".repeat(rule));
        writeln!(self.out, "\n{} {rule} {}\n", self.paint.title(title), self.paint.faint(note))
    }

    fn timeline(&mut self, outcome: &Outcome, longest: Duration) -> io::Result<()> {
        let note = format!("{} sent after {}", items(outcome.sent), millis(outcome.elapsed));
        self.heading(&format!("DEADLINE {}", millis(outcome.deadline)), &note)?;
        let scale = format!("0 ms{:>1$}", millis(longest), CELLS - 4);
        let columns = format!("  source     items    first     last  {scale}  outcome");
        writeln!(self.out, "{}", self.paint.faint(&columns))?;
        for source in &outcome.selection.gather.sources {
            let times: Vec<Duration> = outcome
                .arrivals
                .iter()
                .filter(|(name, _)| *name == &*source.name)
                .map(|(_, time)| *time)
                .collect();
            let time =
                |time: Option<&Duration>| time.map_or("–".to_owned(), |time| millis(*time));
            writeln!(
                self.out,
                "  {:<9}  {:>5}  {:>7}  {:>7}  {}  {}",
                source.name,
                source.items,
                time(times.first()),
                time(times.last()),
                self.lane(&times, source, longest),
                source.outcome.name(),
            )?;
        }
        for source in &outcome.selection.gather.sources {
            if let SourceOutcome::Failed { error } = &source.outcome {
                let kept = items(source.items);
                writeln!(self.out, "\n  {} failed ({error}); {kept} had arrived", source.name)?;
            }
        }
        Ok(())
    }

    /// A dot for every arrival, a line while the source is awaited, and how that ended.
    fn lane(&self, times: &[Duration], source: &SourceReport, longest: Duration) -> String {
        let cell = |time: Duration| {
            let part = time.as_secs_f64() / longest.as_secs_f64().max(f64::MIN_POSITIVE);
            ((part * CELLS as f64) as usize).min(CELLS - 1)
        };
        let end = cell(source.elapsed);
        let mut lane: Vec<char> = vec!['─'; end];
        lane.push(match source.outcome {
            SourceOutcome::Completed | SourceOutcome::LimitReached => '■',
            SourceOutcome::TimedOut => '┤',
            _ => '✗',
        });
        for time in times {
            if let Some(mark) = lane.get_mut(cell(*time).min(end.saturating_sub(1))) {
                *mark = '●';
            }
        }
        let blank = " ".repeat(CELLS - lane.len());
        format!("{}{blank}", self.paint.fill(&lane.into_iter().collect::<String>()))
    }

    fn selected(&mut self, outcomes: &[Outcome]) -> io::Result<()> {
        self.heading("WHAT WAS SELECTED FROM WHOM", "copies: the same text from another source")?;
        let mut titles = format!("  {:<9}", "");
        let mut columns = format!("  {:<9}", "source");
        for outcome in outcomes {
            titles += &format!("   {:<40}", format!("deadline {}", millis(outcome.deadline)));
            columns += "   items  selected  tokens  copies  no room";
        }
        writeln!(self.out, "{}", self.paint.faint(titles.trim_end()))?;
        writeln!(self.out, "{}", self.paint.faint(&columns))?;
        let sources = outcomes.first().map(|outcome| &*outcome.selection.gather.sources);
        for number in 0..sources.map_or(0, <[_]>::len) {
            self.selected_row(outcomes, number)?;
        }
        Ok(())
    }

    fn selected_row(&mut self, outcomes: &[Outcome], number: usize) -> io::Result<()> {
        for (column, outcome) in outcomes.iter().enumerate() {
            let Some(source) = outcome.selection.gather.sources.get(number) else {
                continue;
            };
            if column == 0 {
                write!(self.out, "  {:<9}", source.name)?;
            }
            let name = &*source.name;
            let tokens: i64 = outcome.selected_from(name).map(|entry| entry.item.tokens()).sum();
            write!(
                self.out,
                "   {:>5}  {:>8}  {tokens:>6}  {:>6}  {:>7}",
                source.items,
                outcome.selected_from(name).count(),
                outcome.left_out_of(name, "Deduplicated"),
                outcome.left_out_of(name, "BudgetExceeded")
                    + outcome.left_out_of(name, "PinnedOverride"),
            )?;
        }
        writeln!(self.out)
    }

    fn bought(&mut self, short: &Outcome, long: &Outcome) -> io::Result<()> {
        let more = millis(long.elapsed.saturating_sub(short.elapsed));
        let note = format!("{more} more; score per token decides, so short passages win");
        self.heading("WHAT THE LONGER WAIT CHANGED", &note)?;
        for (mark, from, other) in [('+', long, short), ('-', short, long)] {
            let included = from.selection.report.included.iter();
            let mut only: Vec<_> = included.filter(|entry| !other.has(&entry.item)).collect();
            only.sort_by(|a, b| b.score.total_cmp(&a.score));
            for entry in only {
                let source = entry.item.source().as_str();
                let text = clip(entry.item.content(), WIDTH - 22);
                writeln!(self.out, "  {mark} {:.2}  {source:<9}  {text}", entry.score)?;
            }
        }
        Ok(())
    }
}

/// Whole milliseconds: what a network is measured in.
pub(super) fn millis(duration: Duration) -> String {
    format!("{:.0} ms", duration.as_secs_f64() * 1_000.0)
}
