//! Excerpts of plain text: whole lines of its head, its end, and of what tells most between them.

use super::cut;
use super::mark::{Notes, number_of};
use super::telling::TellingLines;

/// Writes about so many bytes of a text.
pub(super) fn write(telling: &TellingLines<'_>, bytes: usize, notes: &mut Notes<'_>) -> String {
    let text = telling.text;
    let gap = if text.contains('\n') { "\n" } else { " " };
    let between = if gap == " " { 0 } else { telling.share(bytes) };
    let head = head(text, if telling.is_diff { bytes / 4 } else { bytes / 2 });
    let reserved = end(text, bytes.saturating_sub(head + between), head);
    let mut places = telling.within(head..reserved, between);
    let spare = between.saturating_sub(places.iter().map(|(from, to)| to - from + 4).sum());
    let last = end(text, text.len() - reserved + spare, head);
    places.retain(|place| place.1 <= last);
    places.push((last, text.len()));

    let mut out = String::with_capacity(bytes + 128);
    cut::push_closed(&mut out, text.get(..head).unwrap_or_default());
    let mut shown = head;
    let mut is_marked = false;
    for (from, to) in places {
        if from < shown {
            continue;
        }
        if from > shown {
            if !out.is_empty() && !out.ends_with(gap) {
                out.push_str(gap);
            }
            match is_marked {
                true => out.push('…'),
                false => out.push_str(&notes.next(&missing(text, shown, last, notes))),
            }
            is_marked = true;
            out.push_str(gap);
        }
        let piece = text.get(from..to).unwrap_or_default();
        match to == text.len() {
            true => out.push_str(piece),
            false => cut::push_closed(&mut out, piece),
        }
        shown = to;
    }
    out
}

/// The size of what is left out; the mark of the whole text says it already.
fn missing(text: &str, from: usize, to: usize, notes: &Notes<'_>) -> String {
    match notes.is_unused() {
        true => String::new(),
        false => {
            let left_out = text.get(from..to).unwrap_or_default();
            number_of(left_out.chars().count(), "characters")
        }
    }
}

/// Lines of tables and logs are seldom longer. Paragraphs are, and may be cut between words.
const PARAGRAPH: usize = 240;

/// Returns true if whole lines fill enough of the room: two thirds, or one third if the line to cut is short.
fn are_enough(lines: usize, room: usize, cut: &str) -> bool {
    lines * 3 >= room * 2 || lines * 3 >= room && cut.len() <= PARAGRAPH
}

/// The end of the first lines that fit. Where they would leave most of the room, a line is cut.
fn head(text: &str, room: usize) -> usize {
    let most = cut::character(text, room, false);
    if most == text.len() {
        return most;
    }
    let head = text.get(..most).unwrap_or_default();
    let lines = head.rfind('\n').map_or(0, |at| at + 1);
    let rest = text.get(lines..).and_then(|rest| rest.split('\n').next()).unwrap_or_default();
    if are_enough(lines, most, rest) {
        return lines;
    }
    let word = head.rfind(char::is_whitespace).filter(|at| at * 3 >= most * 2);
    cut::floor(text, word.unwrap_or(most)).max(lines)
}

/// The start of the last lines that fit, behind `head`.
fn end(text: &str, room: usize, head: usize) -> usize {
    let first = cut::character(text, text.len().saturating_sub(room).max(head), true);
    let before = text.get(..first).unwrap_or_default();
    if first == head || before.ends_with('\n') {
        return first;
    }
    let end = text.get(first..).unwrap_or_default();
    let lines = end.find('\n').map_or(end.len(), |at| at + 1);
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let rest = text.get(start..first + lines).unwrap_or_default();
    if are_enough(end.len() - lines, end.len(), rest) {
        return first + lines;
    }
    let word = end.find(char::is_whitespace).filter(|at| at * 3 <= end.len());
    cut::ceil(text, first + word.unwrap_or_default()).min(first + lines)
}
