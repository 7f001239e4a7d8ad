//! The result of an audit as text: one table for each window.

use std::fmt;

use crate::report::{AuditReport, WayReport, WindowReport};
use crate::tally::CallTally;

impl fmt::Display for AuditReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sessions, calls, skipped_count, .. } = self;
        writeln!(f, "{sessions} sessions, {calls} calls")?;
        let known = self.models.iter().any(|model| model.price.is_some());
        for window in &self.windows {
            table(f, window, known)?;
        }
        if let Some(largest) = self.waste.first() {
            let kind = match (&largest.tool, largest.kind) {
                (Some(tool), _) => format!("a result of {tool}"),
                (None, crate::WasteKind::Tools) => "definitions of tools".to_owned(),
                (None, _) => "a system prompt".to_owned(),
            };
            let (tokens, calls) = (grouped(largest.tokens), largest.calls);
            writeln!(
                f,
                "\nlargest waste: {kind}, {tokens} tokens in {calls} calls ({})",
                largest.place
            )?;
        }
        if *skipped_count > 0 {
            writeln!(f, "\n{skipped_count} lines could not be read:")?;
            for skipped in self.skipped.iter().take(10) {
                writeln!(f, "  {}: {}", skipped.place, skipped.why)?;
            }
        }
        Ok(())
    }
}

fn table(f: &mut fmt::Formatter<'_>, window: &WindowReport, known: bool) -> fmt::Result {
    let (tokens, larger) = (grouped(window.window), window.larger);
    writeln!(f, "\nwindow {tokens} tokens: {larger} calls are larger")?;
    let money = if known { "dollars" } else { "" };
    writeln!(
        f,
        "  {:<20} {:>6} {:>12} {:>12} {:>12} {:>12} {:>10} {:>8} {:>8} {:>8}",
        "way", "calls", "sent", "cached", "written", "cost", money, "regret", "repeats", "unfitted"
    )?;
    let mut row = |name: &str, sums: &CallTally, way: Option<&WayReport>| {
        let dollars = if known { format!("{:.4}", sums.dollars) } else { String::new() };
        let count =
            |count: fn(&WayReport) -> u64| way.map_or("-".to_owned(), |way| count(way).to_string());
        writeln!(
            f,
            "  {name:<20} {:>6} {:>12} {:>12} {:>12} {:>12} {dollars:>10} {:>8} {:>8} {:>8}",
            sums.calls,
            grouped(sums.tokens),
            grouped(sums.cached),
            grouped(sums.written),
            grouped(sums.cost.round() as i64),
            count(|way| way.tally.regretted_calls),
            count(|way| way.tally.repeats),
            count(|way| way.tally.unfitted),
        )
    };
    row("everything, fitting", &window.everything, None)?;
    for way in &window.ways {
        row(&way.name, &way.tally.all, Some(way))?;
    }
    row(&window.newest_first.name, &window.newest_first.tally.all, Some(&window.newest_first))
}

/// A number with a comma between thousands.
pub(crate) fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        assert_eq!(
            ["0", "999", "1,000", "-1,234,567"],
            [0, 999, 1_000, -1_234_567].map(grouped)[..]
        );
    }
}
