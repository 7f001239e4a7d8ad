//! Prints the calls one after the other: who arrived when, what was selected from whom, what time bought.

use std::io::{self, Write};
use std::time::Duration;

use cupel::explain::Section;
use cupel::gather::{SourceOutcome, SourceReport};
use cupel::layer::Selection;

use cupel_dev::terminal::{Paint, WIDTH, items};

/// Cells of a timeline.
const CELLS: usize = 50;

/// Outcome of one call.
pub(crate) struct Outcome {
    pub(crate) deadline: Duration,
    pub(crate) elapsed: Duration,
    /// Number of items that reached the model.
    pub(crate) sent: usize,
    pub(crate) arrivals: Vec<(&'static str, Duration)>,
    pub(crate) selection: Selection,
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

    /// Prints the items that each source offered, and those that were selected.
    fn selected(&mut self, outcomes: &[Outcome]) -> io::Result<()> {
        for outcome in outcomes {
            let title = format!("SELECTED BY {}", millis(outcome.deadline));
            self.heading(&title, "copies are the same text from another source")?;
            let explanation = outcome.selection.explain();
            let sections = [Section::Brief, Section::Origins];
            write!(self.out, "{}", explanation.text().sections(&sections).for_stdout())?;
        }
        Ok(())
    }

    fn bought(&mut self, short: &Outcome, long: &Outcome) -> io::Result<()> {
        let more = millis(long.elapsed.saturating_sub(short.elapsed));
        let note = format!("{more} more; score per token decides, so short passages win");
        self.heading("WHAT THE LONGER WAIT CHANGED", &note)?;
        let (short, long) = (short.selection.explain(), long.selection.explain());
        let text = long.text().previous(&short).sections(&[Section::Changes]).all_rows();
        write!(self.out, "{}", text.for_stdout())
    }
}

/// Whole milliseconds: what a network is measured in.
pub(super) fn millis(duration: Duration) -> String {
    format!("{:.0} ms", duration.as_secs_f64() * 1_000.0)
}
