//! The parts of the text that are lists of items.

use std::fmt;

use super::super::Explanation;
use super::super::difference::Difference;
use super::super::totals::{selected_tokens, token_sum};
use super::super::words::meaning;
use super::Text;
use super::table::{clip, count, items, share, thousands};
use crate::diagnostics::{ExcludedItem, ExclusionReason, ItemDetails};
use crate::model::ContextItem;

impl<'a> Text<'a> {
    /// The left-out items by reason, the most frequent reason first; a report lists them by score.
    pub(super) fn by_reason(&self) -> Vec<(&'a str, Vec<&'a ExcludedItem>)> {
        let mut groups: Vec<(&str, Vec<&ExcludedItem>)> = Vec::new();
        for entry in &self.explanation.report.excluded {
            let name = self.texts.excluded(&entry.reason);
            match groups.iter_mut().find(|(known, _)| *known == name) {
                Some((_, group)) => group.push(entry),
                None => groups.push((name, vec![entry])),
            }
        }
        groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.len()));
        groups
    }

    /// The beginning of an item's text, or what may be said in its place.
    fn words(&self, item: &ContextItem, width: usize) -> String {
        if self.texts.0 { clip(item.content(), width) } else { self.paint.faint("(text left out)") }
    }

    /// Remarks on an item: the part of the plan, matched words, and the numbers of its reason.
    fn aside(&self, details: Option<&ItemDetails>, reason: Option<&ExclusionReason>) -> String {
        let part = details.and_then(|details| details.part.as_ref());
        let mut asides: Vec<String> = part.iter().map(|part| clip(part, 20)).collect();
        let matched = details.map(|details| details.matched_words.join(", ")).unwrap_or_default();
        if self.texts.0 && !matched.is_empty() {
            asides.push(format!("has {}", clip(&matched, 30)));
        }
        let says_it_all = |reason: &ExclusionReason| {
            matches!(
                reason,
                ExclusionReason::BudgetExceeded { .. } | ExclusionReason::NegativeTokens { .. }
            )
        };
        let why = reason.filter(|reason| !says_it_all(reason)).and_then(|why| self.texts.why(why));
        asides.extend(why.map(|why| clip(&why, 40)));
        match asides.is_empty() {
            true => String::new(),
            false => format!("[{}] ", asides.join("; ")),
        }
    }

    /// Says how many are not shown.
    pub(super) fn more(&self, f: &mut fmt::Formatter<'_>, hidden: usize) -> fmt::Result {
        match hidden {
            0 => Ok(()),
            hidden => {
                let note = format!("      ⋮  {} more", count(hidden));
                writeln!(f, "{}", self.paint.faint(&note))
            }
        }
    }

    pub(super) fn included(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.heading(f, "WHAT WENT IN", "in the order the model reads it")?;
        let columns = "    #  kind          tokens  score  why        text";
        writeln!(f, "{}", self.paint.faint(columns))?;
        let included = &self.explanation.report.included;
        // Both ends: that is where placers put the best.
        let head = self.rows.div_ceil(2);
        let hidden = included.len().saturating_sub(self.rows);
        for (position, entry) in included.iter().enumerate() {
            if hidden > 0 && position == head {
                let middle = included.iter().skip(head).take(hidden);
                let tokens = thousands(token_sum(middle.map(|entry| &entry.item)));
                let note = format!("    ⋮  {} more, {tokens} tokens", count(hidden));
                writeln!(f, "{}", self.paint.faint(&note))?;
            }
            if hidden == 0 || !(head..head.saturating_add(hidden)).contains(&position) {
                let aside = self.aside(entry.details.as_deref(), None);
                let width = self.paint.width.saturating_sub(48 + aside.chars().count());
                writeln!(
                    f,
                    "  {:>3}  {:<12}  {:>6}  {:>5.2}  {:<9}  {}{}",
                    position + 1,
                    clip(self.texts.kind(&entry.item), 12),
                    thousands(entry.item.tokens()),
                    entry.score,
                    clip(self.texts.included(&entry.reason), 9),
                    self.paint.faint(&aside),
                    self.words(&entry.item, width),
                )?;
            }
        }
        Ok(())
    }

    pub(super) fn excluded(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = &self.explanation.report.excluded;
        let note = format!("{}, best score first{}", items(all.len()), self.unlisted());
        self.heading(f, "WHAT STAYED OUT, AND WHY", &note)?;
        if !all.is_empty() {
            let columns = "  score  tokens  from           text";
            writeln!(f, "{}", self.paint.faint(columns))?;
        }
        for (name, group) in self.by_reason() {
            let tokens = thousands(token_sum(group.iter().map(|entry| &entry.item)));
            let meaning = group.first().map_or("", |entry| meaning(&entry.reason));
            let title = format!("{}: {meaning}", clip(name, 40));
            let totals = format!("{}, {tokens} tokens", items(group.len()));
            let used = title.chars().count() + totals.chars().count() + 2;
            let gap = self.paint.width.saturating_sub(used).max(1);
            writeln!(f, "\n  {}{}{totals}", self.paint.warn(&title), " ".repeat(gap))?;
            for entry in group.iter().take(self.rows) {
                let aside = self.aside(entry.details.as_deref(), Some(&entry.reason));
                let width = self.paint.width.saturating_sub(32 + aside.chars().count());
                writeln!(
                    f,
                    "  {:>5.2}  {:>6}  {:<13}  {}{}",
                    entry.score,
                    thousands(entry.item.tokens()),
                    clip(self.texts.source(&entry.item), 13),
                    self.paint.faint(&aside),
                    self.words(&entry.item, width),
                )?;
            }
            self.more(f, group.len().saturating_sub(self.rows))?;
        }
        Ok(())
    }

    /// `55 kept, 2 new, 3 dropped; the same up to item 40 (5,210 tokens, 80 %)`.
    pub(super) fn moved(&self, previous: &Explanation, difference: &Difference) -> String {
        let Difference { prefix_items, prefix_tokens, kept, new, dropped, .. } = difference;
        let moved = format!(
            "{} kept, {} new, {} dropped",
            count(kept.len()),
            count(new.len()),
            count(dropped.len())
        );
        let now = selected_tokens(&self.explanation.report);
        let percent = share(*prefix_tokens, now) * 100.0;
        let tokens = thousands(*prefix_tokens);
        let both_are = self.explanation.report.included.len() == *prefix_items
            && previous.report.included.len() == *prefix_items;
        match prefix_items {
            _ if both_are => format!("{moved}; the same selection"),
            0 => format!("{moved}; the first item is another one"),
            many => {
                let many = count(*many);
                format!("{moved}; the same up to item {many} ({tokens} tokens, {percent:.0} %)")
            }
        }
    }

    pub(super) fn changes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((previous, difference)) = self.difference() else {
            return Ok(());
        };
        self.heading(f, "SINCE THE CALL BEFORE", "")?;
        writeln!(f, "  {}", self.moved(previous, &difference))?;
        let at = difference.prefix_items;
        let [was, is] = [previous, self.explanation]
            .map(|call| call.report.included.get(at).map(|entry| &entry.item));
        if at > 0 {
            for (label, item) in [("before", was), ("now", is)] {
                if let Some(item) = item {
                    let words = self.words(item, self.paint.width.saturating_sub(28));
                    writeln!(f, "  then, {label:<6}  {words}")?;
                }
            }
        }
        self.change_lines(f)
    }

    /// A line for each item that is new or dropped.
    pub(super) fn change_lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((previous, difference)) = self.difference() else {
            return Ok(());
        };
        let report = &self.explanation.report;
        let new = difference.new.iter().filter_map(|position| report.included.get(*position));
        for entry in new.take(self.rows) {
            self.change_line(f, '+', &entry.item, self.texts.included(&entry.reason))?;
        }
        self.more(f, difference.new.len().saturating_sub(self.rows))?;
        for dropped in difference.dropped.iter().take(self.rows) {
            if let Some(before) = previous.report.included.get(dropped.before) {
                let now = dropped.now.and_then(|position| report.excluded.get(position));
                let why = now.map_or("no candidate", |entry| self.texts.excluded(&entry.reason));
                self.change_line(f, '-', &before.item, why)?;
            }
        }
        self.more(f, difference.dropped.len().saturating_sub(self.rows))
    }

    fn change_line(
        &self,
        f: &mut fmt::Formatter<'_>,
        sign: char,
        item: &ContextItem,
        why: &str,
    ) -> fmt::Result {
        let line = format!(
            "  {sign} {:<12}  {:>6}  {:<16}",
            clip(self.texts.kind(item), 12),
            thousands(item.tokens()),
            clip(why, 16),
        );
        let line = if sign == '+' { self.paint.fill(&line) } else { self.paint.warn(&line) };
        writeln!(f, "{line}  {}", self.words(item, self.paint.width.saturating_sub(44)))
    }
}
