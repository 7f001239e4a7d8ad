//! The result of an audit as one HTML file. It loads nothing, and has no script.

mod chart;
mod escape;

use std::fmt;

use cupel::explain::STYLE;

use self::escape::escape;
use crate::repeats::RepeatKind;
use crate::report::{AuditReport, RegretEntry, RepeatEntry, WasteKind, WayReport, WindowReport};
use crate::table::grouped;
use crate::tally::CallTally;

const OWN_STYLE: &str = include_str!("audit.css");

/// The HTML form of an [`AuditReport`], made by [`AuditReport::page`] and written with `{}`.
///
/// ```
/// use cupel_audit::Audit;
///
/// let page = Audit::new().sessions([]).page().without_content().to_string();
/// assert!(page.starts_with("<!doctype html>"));
/// assert!(!page.contains("<script"));
/// ```
#[derive(Debug, Clone)]
#[must_use = "a page is written with {}"]
pub struct AuditPage<'a> {
    report: &'a AuditReport,
    has_content: bool,
}

impl AuditReport {
    /// The HTML file.
    pub fn page(&self) -> AuditPage<'_> {
        AuditPage { report: self, has_content: true }
    }
}

impl AuditPage<'_> {
    /// Leaves out values of calls, words of users, texts of results, and what parsers say about lines. Names
    /// of files, tools and models stay.
    pub fn without_content(mut self) -> Self {
        self.has_content = false;
        self
    }

    /// A text of a conversation, if the page may show it.
    fn content(&self, text: &str) -> String {
        if self.has_content {
            escape(text)
        } else {
            "<span class=\"soft\">left out</span>".to_owned()
        }
    }
}

impl fmt::Display for AuditPage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AuditReport { sessions, calls, version, .. } = self.report;
        // Nothing is loaded, and no script runs. The nonce only admits the one style sheet.
        f.write_str(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'nonce-audit'; base-uri 'none'; form-action 'none'\">\n\
             <title>Audit of recorded conversations</title>\n",
        )?;
        writeln!(f, "<style nonce=\"audit\">{STYLE}\n{OWN_STYLE}</style>\n</head>\n<body>")?;
        writeln!(
            f,
            "<div id=\"cupel\" class=\"audit\">\n<h1>Audit of recorded conversations</h1>"
        )?;
        writeln!(
            f,
            "<p class=\"sub\">{sessions} sessions, {calls} calls, replayed by tower-cupel {}. Nothing \
             was sent.</p>",
            escape(version)
        )?;
        for window in &self.report.windows {
            self.window(f, window)?;
        }
        self.waste(f)?;
        self.models(f)?;
        self.skipped(f)?;
        f.write_str("</div>\n</body>\n</html>\n")
    }
}

impl AuditPage<'_> {
    fn window(&self, f: &mut fmt::Formatter<'_>, window: &WindowReport) -> fmt::Result {
        let (tokens, larger) = (grouped(window.window), window.larger);
        writeln!(f, "<section>\n<h2>Window of {tokens} tokens</h2>")?;
        writeln!(f, "<p class=\"soft\">{larger} of {} calls are larger.</p>", self.report.calls)?;
        f.write_str("<div class=\"wide\"><table>\n<tr><th>way</th>")?;
        for head in [
            "calls", "sent", "cached", "written", "cost", "dollars", "regret", "repeats",
            "unfitted",
        ] {
            write!(f, "<th class=\"n\">{head}</th>")?;
        }
        f.write_str("</tr>\n")?;
        row(f, "everything, where it fits", &window.everything, None)?;
        for way in &window.ways {
            row(f, &way.name, &way.tally.all, Some(way))?;
        }
        let newest = &window.newest_first;
        row(f, &newest.name, &newest.tally.all, Some(newest))?;
        f.write_str("</table></div>\n")?;
        f.write_str(
            "<p class=\"soft\">Sent, cached and written are tokens. Cost is in new tokens: a cached one \
             counts a tenth, and a written one a quarter more where the provider charges for writing. \
             Regret: calls whose answer used a value that exists only in what was cut. Repeats: see \
             below.</p>\n",
        )?;
        f.write_str(&chart::cached_by_turn(window))?;
        for way in window.ways.iter().chain([&window.newest_first]) {
            self.lists(f, way)?;
        }
        f.write_str("</section>\n")
    }

    fn lists(&self, f: &mut fmt::Formatter<'_>, way: &WayReport) -> fmt::Result {
        let name = escape(&way.name);
        if !way.regrets.is_empty() {
            let (calls, values) = (way.tally.regretted_calls, way.tally.regretted_values);
            writeln!(
                f,
                "<details><summary>{name}: {calls} calls used {values} values that exist only in what \
                 was cut</summary>\n<table><tr><th>session</th><th class=\"n\">call</th><th>tool</th>\
                 <th>value</th></tr>"
            )?;
            for RegretEntry { place, turn, tool, value } in &way.regrets {
                let (place, tool, value) = (escape(place), escape(tool), self.content(value));
                writeln!(
                    f,
                    "<tr><td class=\"text\">{place}</td><td class=\"n\">{turn}</td><td>{tool}</td>\
                     <td class=\"text\">{value}</td></tr>"
                )?;
            }
            f.write_str("</table></details>\n")?;
        }
        if !way.repeats.is_empty() {
            writeln!(
                f,
                "<details><summary>{name}: {} repeats of what would have been cut. They were also \
                 repeated with everything in view</summary>\n<table><tr><th>session</th>\
                 <th class=\"n\">call</th><th>what</th></tr>",
                way.tally.repeats
            )?;
            for RepeatEntry { place, turn, kind, what } in &way.repeats {
                let what = match kind {
                    RepeatKind::ToolCall => format!("the same call of {}", escape(what)),
                    RepeatKind::UserMessage => format!("the user: {}", self.content(what)),
                };
                let place = escape(place);
                writeln!(
                    f,
                    "<tr><td class=\"text\">{place}</td><td class=\"n\">{turn}</td>\
                     <td class=\"text\">{what}</td></tr>"
                )?;
            }
            f.write_str("</table></details>\n")?;
        }
        if !way.unfitted.is_empty() {
            writeln!(
                f,
                "<details><summary>{name}: {} calls could not be fitted</summary>\n<table>\
                 <tr><th>reason</th><th class=\"n\">calls</th><th>first</th></tr>",
                way.tally.unfitted
            )?;
            for entry in &way.unfitted {
                let (why, place) = (escape(&entry.why), escape(&entry.place));
                writeln!(
                    f,
                    "<tr><td class=\"text\">{why}</td><td class=\"n\">{}</td>\
                     <td class=\"text\">{place}, call {}</td></tr>",
                    entry.calls, entry.turn
                )?;
            }
            f.write_str("</table></details>\n")?;
        }
        Ok(())
    }

    fn waste(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.report.waste.is_empty() {
            return Ok(());
        }
        f.write_str(
            "<section>\n<h2>What is sent again and again</h2>\n<p class=\"soft\">The largest parts, if \
             every call sends everything.</p>\n<div class=\"wide\"><table>\n<tr><th>part</th>\
             <th class=\"n\">tokens</th><th class=\"n\">calls</th><th class=\"n\">together</th>\
             <th>session</th><th>text</th></tr>\n",
        )?;
        for entry in &self.report.waste {
            let part = match entry.kind {
                WasteKind::Tools => "definitions of tools".to_owned(),
                WasteKind::System => "system prompt".to_owned(),
                WasteKind::Result => {
                    format!("result of {}", escape(entry.tool.as_deref().unwrap_or("a tool")))
                }
            };
            let text =
                if entry.text.is_empty() { String::new() } else { self.content(&entry.text) };
            let (tokens, total) = (grouped(entry.tokens), grouped(entry.total()));
            let others = match entry.sessions {
                0 | 1 => String::new(),
                sessions => format!(" and {} more", sessions - 1),
            };
            writeln!(
                f,
                "<tr><td>{part}</td><td class=\"n\">{tokens}</td><td class=\"n\">{}</td>\
                 <td class=\"n\">{total}</td><td class=\"text\">{}{others}</td><td class=\"text\">{text}</td></tr>",
                entry.calls,
                escape(&entry.place)
            )?;
        }
        f.write_str("</table></div>\n</section>\n")
    }

    fn models(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "<section>\n<h2>Models and prices</h2>\n<table>\n<tr><th>model</th>\
             <th class=\"n\">sessions</th><th class=\"n\">input</th><th class=\"n\">cached</th>\
             <th class=\"n\">written</th></tr>\n",
        )?;
        for model in &self.report.models {
            let (name, sessions) = (escape(&model.name), model.sessions);
            write!(f, "<tr><td>{name}</td><td class=\"n\">{sessions}</td>")?;
            match model.price {
                Some(price) => {
                    for part in [price.input, price.cached, price.written] {
                        write!(f, "<td class=\"n\">${part}</td>")?;
                    }
                }
                None => f.write_str("<td class=\"n\" colspan=\"3\">no price is known</td>")?,
            }
            f.write_str("</tr>\n")?;
        }
        f.write_str("</table>\n<p class=\"soft\">Dollars for a million tokens.</p>\n</section>\n")
    }

    fn skipped(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.report.skipped_count == 0 {
            return Ok(());
        }
        let count = self.report.skipped_count;
        writeln!(
            f,
            "<section>\n<details><summary>{count} lines could not be read</summary>\n<table>"
        )?;
        for skipped in &self.report.skipped {
            let (place, why) = (escape(&skipped.place), self.content(&skipped.why));
            writeln!(f, "<tr><td class=\"text\">{place}</td><td class=\"text\">{why}</td></tr>")?;
        }
        f.write_str("</table></details>\n</section>\n")
    }
}

fn row(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    sums: &CallTally,
    way: Option<&WayReport>,
) -> fmt::Result {
    write!(f, "<tr><td>{}</td>", escape(name))?;
    let calls = i64::try_from(sums.calls).unwrap_or(i64::MAX);
    for number in [calls, sums.tokens, sums.cached, sums.written, sums.cost.round() as i64] {
        write!(f, "<td class=\"n\">{}</td>", grouped(number))?;
    }
    write!(f, "<td class=\"n\">{:.4}</td>", sums.dollars)?;
    let counts = way.map(|way| [way.tally.regretted_calls, way.tally.repeats, way.tally.unfitted]);
    for at in 0..3 {
        match counts.as_ref().and_then(|counts| counts.get(at)) {
            Some(count) => write!(f, "<td class=\"n\">{count}</td>")?,
            None => f.write_str("<td class=\"n\">–</td>")?,
        }
    }
    f.write_str("</tr>\n")
}
