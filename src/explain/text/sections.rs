//! The parts of the text that are numbers: how full, by kind, how long.

use std::fmt;

use super::super::totals::{self, WindowTotals, selected_tokens};
use super::Text;
use super::table::{bar, clip, count, gauge, items, share, thousands, wrap};
use crate::diagnostics::InclusionReason;
use crate::model::ContextItem;
use crate::tool_choice::ReportedTool;

/// Kinds or sources that are shown at least: there are seldom more.
const GROUPS: usize = 16;

impl Text<'_> {
    pub(super) fn heading(
        &self,
        f: &mut fmt::Formatter<'_>,
        title: &str,
        note: &str,
    ) -> fmt::Result {
        writeln!(f, "\n{}\n", self.paint.heading(title, note))
    }

    /// `57 of 300 items, 6,478 of 6,500 tokens`, as far as it is known.
    fn line(&self) -> String {
        let report = &self.explanation.report;
        let used = thousands(selected_tokens(report));
        let of = WindowTotals::of(self.explanation)
            .map(|window| format!(" of {}", thousands(window.goal)));
        let (included, all) = (count(report.included.len()), items(report.total_candidates));
        format!("{included} of {all}, {used}{} tokens", of.unwrap_or_default())
    }

    pub(super) fn brief_lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}", self.line())?;
        if let Some(WindowTotals { selected, goal, fixed, .. }) = WindowTotals::of(self.explanation)
        {
            let (full, empty) = self.gauge(share(selected, goal), 20);
            write!(f, "  {full}{empty}  {:.1} %", share(selected, goal) * 100.0)?;
            if fixed > 0 {
                write!(f, ", {} fixed", thousands(fixed))?;
            }
        }
        writeln!(f)?;
        if let Some((previous, difference)) = self.difference() {
            writeln!(f, "  since the call before: {}", self.moved(previous, &difference))?;
        }
        self.cache(f, "from the cache:")?;
        self.source_line(f)?;
        let left_out = self.by_reason();
        if !left_out.is_empty() {
            let reasons = left_out
                .iter()
                .map(|(name, group)| format!("{} {}", count(group.len()), clip(name, 40)));
            let reasons = reasons.collect::<Vec<_>>().join(", ");
            let best = self.explanation.report.excluded.first().filter(|_| self.texts.0);
            let best = best.map_or(String::new(), |best| {
                format!("; the best, {:.2}: {}", best.score, best.item.content())
            });
            let line = format!("left out: {reasons}{}{best}", self.unlisted());
            writeln!(f, "  {}", clip(&line, self.paint.width.saturating_sub(2)))?;
        }
        Ok(())
    }

    /// Tokens that a prompt cache is expected to have.
    fn cache(&self, f: &mut fmt::Formatter<'_>, label: &str) -> fmt::Result {
        let Some(cache) = &self.explanation.cache else {
            return Ok(());
        };
        let (cached, new) = (thousands(cache.cached_tokens), thousands(cache.new_tokens));
        let broke = cache.broke.as_ref().map(|why| format!("; {why}")).unwrap_or_default();
        let line = format!("{cached} tokens expected, {new} new{broke}");
        let width = self.paint.width.saturating_sub(label.len() + 3);
        writeln!(f, "  {label} {}", clip(&line, width))
    }

    /// Outcome of each source, in one line.
    fn source_line(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.explanation.sources.is_empty() {
            return Ok(());
        }
        let sources = self.explanation.sources.iter().map(|source| {
            let ended =
                if source.failed { format!(" ({})", source.outcome) } else { String::new() };
            let (name, found) = (clip(&source.name, 20), items(source.items));
            format!("{name} {found} in {:.1} ms{}", source.elapsed_ms, ended.replace('_', " "))
        });
        let line = format!("sources: {}", sources.collect::<Vec<_>>().join(", "));
        writeln!(f, "  {}", clip(&line, self.paint.width.saturating_sub(2)))
    }

    /// Says how many candidates the report does not list.
    pub(super) fn unlisted(&self) -> String {
        let report = &self.explanation.report;
        let listed = report.included.len() + report.excluded.len();
        match report.total_candidates.saturating_sub(listed) {
            0 => String::new(),
            more => format!(", and {} that the report does not list", count(more)),
        }
    }

    fn gauge(&self, part: f64, width: usize) -> (String, String) {
        let (full, empty) = gauge(part, width);
        (self.paint.fill(&full), self.paint.faint(&empty))
    }

    pub(super) fn summary(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = &self.explanation.report;
        self.heading(f, "CONTEXT", &self.line())?;
        if let Some(title) = &self.explanation.title {
            let lines = wrap(title, self.paint.width.saturating_sub(14));
            for (number, line) in lines.iter().enumerate() {
                let label = if number == 0 { "for" } else { "" };
                writeln!(f, "  {label:<10}  {}", self.paint.title(line))?;
            }
        }
        let total = thousands(report.total_tokens_considered);
        writeln!(f, "  candidates  {}, {total} tokens", items(report.total_candidates))?;
        if let Some(window) = WindowTotals::of(self.explanation) {
            let parts = [
                (self.explanation.tool_tokens, "tools"),
                (window.fixed.saturating_sub(self.explanation.tool_tokens), "fixed"),
                (window.goal, "for the context"),
                (window.margin, "margin"),
                (window.slots, "kept for kinds"),
                (window.reserve, "kept free for the answer"),
            ];
            let parts = parts.iter().filter(|(tokens, _)| *tokens > 0);
            let parts = parts.map(|(tokens, what)| format!("{} {what}", thousands(*tokens)));
            let parts = parts.collect::<Vec<_>>().join(", ");
            let window = format!("{} tokens: {parts}", thousands(window.size));
            writeln!(f, "  window      {}", clip(&window, self.paint.width.saturating_sub(14)))?;
        }
        let because =
            |reason| report.included.iter().filter(|entry| entry.reason == reason).count();
        let selected = format!(
            "{}, {} tokens, {}: {} by score, {} pinned, {} that cost nothing",
            items(report.included.len()),
            thousands(selected_tokens(report)),
            report.strategy,
            count(because(InclusionReason::Scored)),
            count(because(InclusionReason::Pinned)),
            count(because(InclusionReason::ZeroToken)),
        );
        writeln!(f, "  selected    {}", clip(&selected, self.paint.width.saturating_sub(14)))?;
        if let Some(window) = WindowTotals::of(self.explanation) {
            let part = share(window.selected, window.goal);
            let (full, empty) = self.gauge(part, 60.min(self.paint.width.saturating_sub(40)));
            let goal = thousands(window.goal);
            writeln!(f, "  used        {full}{empty} {:.1} % of {goal}", part * 100.0)?;
        }
        self.cache(f, "cache      ")?;
        for shortfall in &report.count_requirement_shortfalls {
            let line = format!("  short       {}", clip(&self.texts.shortfall(shortfall), 80));
            writeln!(f, "{}", self.paint.warn(&line))?;
        }
        if self.texts.0 {
            for note in &self.explanation.notes {
                let note = clip(note, self.paint.width.saturating_sub(14));
                writeln!(f, "{}", self.paint.warn(&format!("  note        {note}")))?;
            }
        }
        Ok(())
    }

    pub(super) fn groups<'a>(
        &'a self,
        f: &mut fmt::Formatter<'_>,
        title: &str,
        name: impl Fn(&'a ContextItem) -> &'a str,
    ) -> fmt::Result {
        self.heading(f, title, "bars: share of the selected tokens")?;
        let what = if title == "BY KIND" { "kind" } else { "source" };
        let columns = format!("  {what:<13}  candidates    tokens   selected    tokens");
        writeln!(f, "{}", self.paint.faint(&columns))?;
        let all = selected_tokens(&self.explanation.report);
        let groups = totals::groups(&self.explanation.report, name);
        let hidden = groups.len().saturating_sub(self.rows.max(GROUPS));
        for group in groups.into_iter().take(self.rows.max(GROUPS)) {
            let part = share(group.tokens, all);
            writeln!(
                f,
                "  {:<13}  {:>10}  {:>8}  {:>9}  {:>8}  {} {:>5.1} %",
                clip(&group.name, 13),
                count(group.candidates),
                thousands(group.offered),
                count(group.selected),
                thousands(group.tokens),
                self.paint.fill(&bar(part, 31)),
                part * 100.0,
            )?;
        }
        self.more(f, hidden)
    }

    pub(super) fn tools(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(tools) = &self.explanation.tools else { return Ok(()) };
        self.heading(f, "TOOLS", &tools.describe())?;
        let mut order: Vec<&ReportedTool> = tools.tools.iter().collect();
        order.sort_by(|a, b| b.is_sent().cmp(&a.is_sent()).then(b.score.total_cmp(&a.score)));
        for tool in order.iter().take(self.rows) {
            let name = if self.texts.0 { clip(&tool.name, 48) } else { String::new() };
            writeln!(
                f,
                "  {:<13}  {:>8} tokens  {:>5.2}  {name}",
                tool.reason.as_str(),
                thousands(tool.tokens),
                tool.score,
            )?;
        }
        self.more(f, order.len().saturating_sub(self.rows))
    }

    pub(super) fn sources(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(elapsed) = self.explanation.gathered_ms else {
            return Ok(());
        };
        self.heading(f, "SOURCES", &format!("{elapsed:.1} ms of gathering"))?;
        for source in &self.explanation.sources {
            let outcome = source.outcome.replace('_', " ");
            let detail = source.detail.as_deref().filter(|_| self.texts.0);
            let ended = detail.map_or(outcome.clone(), |detail| format!("{outcome}: {detail}"));
            let ended = clip(&ended, self.paint.width.saturating_sub(54));
            writeln!(
                f,
                "  {:<13}  {:>6} items  {:>8} tokens  {:>9.1} ms  {}",
                clip(&source.name, 13),
                count(source.items),
                thousands(source.tokens),
                source.elapsed_ms,
                if source.failed { self.paint.warn(&ended) } else { ended },
            )?;
        }
        Ok(())
    }

    pub(super) fn stages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stages = self.explanation.report.events.iter().filter(|event| event.duration_ms > 0.0);
        let all: f64 = stages.clone().map(|event| event.duration_ms).sum();
        if all <= 0.0 {
            return Ok(());
        }
        self.heading(f, "TIME PER STAGE", &format!("{all:.2} ms in all"))?;
        for event in stages {
            writeln!(
                f,
                "  {:<13}  {:>6} items  {:>8.1} µs  {}",
                clip(event.stage.name(), 13),
                count(event.item_count),
                event.duration_ms * 1_000.0,
                self.paint.fill(bar(event.duration_ms / all, 40).trim_end()),
            )?;
        }
        Ok(())
    }
}
