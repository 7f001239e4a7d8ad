//! Prints a selection for people: totals, kinds, what went in, what stayed out and why, timing.

use std::io::{self, Write};

use cupel::{
    ContextItem, ContextKind, ExcludedItem, ExclusionReason, InclusionReason, SelectionReport,
};

use super::Scenario;
use super::table::{Paint, WIDTH, bar, clip, count, gauge, items, share, thousands, wrap};

/// How many lines of a list are shown at each end unless everything is asked for.
const EDGE: usize = 10;
/// How many left-out items are shown for each reason unless everything is asked for.
const BEST: usize = 5;

/// A selection and how to show it.
pub(crate) struct View<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) report: &'a SelectionReport,
    pub(crate) paint: Paint,
    /// Every line of every list, rather than the best few.
    pub(crate) all: bool,
}

impl View<'_> {
    /// Writes all sections.
    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        self.summary(out)?;
        self.kinds(out)?;
        self.included(out)?;
        self.excluded(out)?;
        self.stages(out)
    }

    fn selected_tokens(&self) -> i64 {
        self.report.included.iter().map(|entry| entry.item.tokens()).sum()
    }

    fn heading(&self, out: &mut impl Write, title: &str, note: &str) -> io::Result<()> {
        writeln!(out, "\n{}\n", self.paint.heading(title, note))
    }

    fn summary(&self, out: &mut impl Write) -> io::Result<()> {
        let Scenario { items: candidates, budget, now } = self.scenario;
        let (used, target) = (self.selected_tokens(), budget.target_tokens());
        let time = now.format("%-d %B, %H:%M UTC").to_string();
        self.heading(out, "CONTEXT FOR ONE QUESTION", &time)?;
        let message = ContextKind::message();
        let question = candidates.iter().find(|item| item.pinned() && *item.kind() == message);
        let question = question.map_or("", ContextItem::content);
        for (number, line) in wrap(question, WIDTH - 14).iter().enumerate() {
            writeln!(out, "  {:<10}  {line}", if number == 0 { "question" } else { "" })?;
        }
        let total = thousands(self.report.total_tokens_considered);
        writeln!(
            out,
            "  candidates  {}, {total} tokens (estimated: characters / 4, rounded up)",
            items(self.report.total_candidates),
        )?;
        writeln!(
            out,
            "  budget      {} tokens: {} for the context, {} kept free for the answer",
            thousands(budget.max_tokens()),
            thousands(target),
            thousands(budget.output_reserve()),
        )?;
        let because = |reason| {
            count(self.report.included.iter().filter(|entry| entry.reason == reason).count())
        };
        writeln!(
            out,
            "  selected    {}, {} tokens: {} by score, {} pinned, {} that cost nothing",
            items(self.report.included.len()),
            thousands(used),
            because(InclusionReason::Scored),
            because(InclusionReason::Pinned),
            because(InclusionReason::ZeroToken),
        )?;
        let part = share(used, target);
        let (full, empty) = gauge(part, 60);
        let (full, empty) = (self.paint.fill(&full), self.paint.faint(&empty));
        writeln!(out, "  used        {full}{empty} {:.1} % of {}", part * 100.0, thousands(target))
    }

    fn kinds(&self, out: &mut impl Write) -> io::Result<()> {
        self.heading(out, "BY KIND", "bars: share of the selected tokens")?;
        let columns = "  kind          candidates    tokens   selected    tokens";
        writeln!(out, "{}", self.paint.faint(columns))?;
        let candidates: Vec<_> = self.scenario.items.iter().collect();
        let selected: Vec<_> = self.report.included.iter().map(|entry| &entry.item).collect();
        let mut kinds: Vec<&ContextKind> = Vec::new();
        for item in &candidates {
            if !kinds.contains(&item.kind()) {
                kinds.push(item.kind());
            }
        }
        let all = self.selected_tokens();
        for kind in kinds {
            let (candidates, offered) = of_kind(&candidates, kind);
            let (selected, tokens) = of_kind(&selected, kind);
            let part = share(tokens, all);
            writeln!(
                out,
                "  {:<12}  {:>10}  {:>8}  {:>9}  {:>8}  {} {:>5.1} %",
                kind.as_str(),
                count(candidates),
                thousands(offered),
                count(selected),
                thousands(tokens),
                self.paint.fill(&bar(part, 32)),
                part * 100.0,
            )?;
        }
        Ok(())
    }

    fn included(&self, out: &mut impl Write) -> io::Result<()> {
        self.heading(out, "WHAT WENT IN", "in the order the model reads it, best at both ends")?;
        let columns = "    #  kind          tokens  score  why        text";
        writeln!(out, "{}", self.paint.faint(columns))?;
        let included = &self.report.included;
        let hidden = if self.all { 0 } else { included.len().saturating_sub(2 * EDGE) };
        for (position, entry) in included.iter().enumerate() {
            if hidden > 0 && position == EDGE {
                let middle = included.iter().skip(EDGE).take(hidden);
                let tokens = middle.map(|entry| entry.item.tokens()).sum();
                let (hidden, tokens) = (count(hidden), thousands(tokens));
                let note =
                    format!("    ⋮  {hidden} more, {tokens} tokens (add `-- --all` to see all)");
                writeln!(out, "{}", self.paint.faint(&note))?;
            }
            if (EDGE..EDGE + hidden).contains(&position) {
                continue;
            }
            writeln!(
                out,
                "  {:>3}  {:<12}  {:>6}  {:>5.2}  {:<9}  {}",
                position + 1,
                entry.item.kind().as_str(),
                thousands(entry.item.tokens()),
                entry.score,
                entry.reason.name(),
                clip(entry.item.content(), WIDTH - 48),
            )?;
        }
        Ok(())
    }

    fn excluded(&self, out: &mut impl Write) -> io::Result<()> {
        let note = format!("{}, best score first", items(self.report.excluded.len()));
        self.heading(out, "WHAT STAYED OUT, AND WHY", &note)?;
        let columns = "  score  tokens  from           text";
        writeln!(out, "{}", self.paint.faint(columns))?;
        for (name, group) in self.by_reason() {
            let tokens = group.iter().map(|entry| entry.item.tokens()).sum();
            let meaning = group.first().map_or("", |entry| meaning(&entry.reason));
            let title = format!("{name}: {meaning}");
            let totals = format!("{}, {} tokens", items(group.len()), thousands(tokens));
            let gap = WIDTH.saturating_sub(title.chars().count() + totals.chars().count() + 2);
            writeln!(out, "\n  {}{}{totals}", self.paint.warn(&title), " ".repeat(gap))?;
            let shown = if self.all { group.len() } else { BEST };
            for entry in group.iter().take(shown) {
                writeln!(out, "  {}", line(&entry.item, entry.score))?;
            }
            if let Some(more @ 1..) = group.len().checked_sub(shown) {
                writeln!(out, "{}", self.paint.faint(&format!("      ⋮  {} more", count(more))))?;
            }
        }
        Ok(())
    }

    /// The left-out items by reason, the most frequent reason first; a report lists them by score.
    fn by_reason(&self) -> Vec<(&str, Vec<&ExcludedItem>)> {
        let mut groups: Vec<(&str, Vec<&ExcludedItem>)> = Vec::new();
        for entry in &self.report.excluded {
            let name = entry.reason.name();
            match groups.iter_mut().find(|(known, _)| *known == name) {
                Some((_, group)) => group.push(entry),
                None => groups.push((name, vec![entry])),
            }
        }
        groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.len()));
        groups
    }

    fn stages(&self, out: &mut impl Write) -> io::Result<()> {
        let all: f64 = self.report.events.iter().map(|event| event.duration_ms).sum();
        let build = if cfg!(debug_assertions) { "an unoptimised build" } else { "a release build" };
        let total = format!("{all:.2} ms in all, {build}");
        self.heading(out, "TIME PER STAGE", &total)?;
        for event in &self.report.events {
            let part = if all > 0.0 { event.duration_ms / all } else { 0.0 };
            writeln!(
                out,
                "  {:<12}  {:>6} items  {:>8.1} µs  {}",
                event.stage.name(),
                count(event.item_count),
                event.duration_ms * 1000.0,
                self.paint.fill(bar(part, 40).trim_end()),
            )?;
        }
        Ok(())
    }
}

/// How many of the items are of the kind, and their tokens.
fn of_kind(items: &[&ContextItem], kind: &ContextKind) -> (usize, i64) {
    let items = items.iter().filter(|item| item.kind() == kind);
    items.fold((0, 0), |(count, tokens), item| (count + 1, tokens + item.tokens()))
}

fn line(item: &ContextItem, score: f64) -> String {
    let text = clip(item.content(), WIDTH - 32);
    let (tokens, source) = (thousands(item.tokens()), item.source().as_str());
    format!("{score:>5.2}  {tokens:>6}  {source:<13}  {text}")
}

/// A reason in plain words.
fn meaning(reason: &ExclusionReason) -> &'static str {
    match reason {
        ExclusionReason::BudgetExceeded { .. } => "no room beside items worth more per token",
        ExclusionReason::Deduplicated { .. } => "the same text came twice, the better score stays",
        ExclusionReason::NegativeTokens { .. } => "its token count is invalid",
        ExclusionReason::QuotaCapExceeded { .. } => "its kind has had its share",
        ExclusionReason::QuotaRequireDisplaced { .. } => "room promised to another kind",
        ExclusionReason::PinnedOverride { .. } => "pinned items took the room",
        _ => "see the reason's fields",
    }
}
