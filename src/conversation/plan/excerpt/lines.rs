//! Excerpts of plain text, cut where lines end.

use super::mark::Mark;

/// Words of lines that are worth showing, in lower case.
const TROUBLE: [&str; 8] =
    ["error", "exception", "traceback", "panic", "fatal", "fail", "denied", "cannot"];

/// About so many bytes of a text: half of them from its head, the rest from its end and from lines
/// between them that look like errors.
pub(super) fn excerpt(
    text: &str,
    bytes: usize,
    on_one_line: bool,
    mark: &Mark,
    count: &dyn Fn(&str) -> i64,
) -> String {
    let head = head(text, bytes / 2);
    let errors_at_most = if on_one_line { 0 } else { bytes / 5 };
    let middle_and_end = text.get(head.len()..).unwrap_or_default();
    let reserved = end(middle_and_end, bytes - bytes / 2 - errors_at_most);
    let between = middle_and_end.len() - reserved.len();
    let errors = trouble(middle_and_end.get(..between).unwrap_or_default(), errors_at_most);
    let spare = errors_at_most - errors.iter().map(|line| line.len() + 1).sum::<usize>();
    let last = end(middle_and_end, (reserved.len() + spare).min(between + reserved.len()));
    // Lines that the longer end has now are not shown twice.
    let from = last.as_ptr() as usize;
    let errors: Vec<&str> =
        errors.into_iter().filter(|line| (line.as_ptr() as usize) < from).collect();
    let shown = count(head) + count(last) + errors.iter().map(|line| count(line)).sum::<i64>();
    let gap = if on_one_line { " " } else { "\n" };
    let mut out = String::with_capacity(bytes + 64);
    out.push_str(head);
    if !out.ends_with(gap) && !out.is_empty() {
        out.push_str(gap);
    }
    out.push_str(&mark.write(shown));
    out.push_str(gap);
    for line in errors {
        out.push_str(line);
        out.push_str("\n…\n");
    }
    out.push_str(last);
    out
}

/// The beginning of a text, up to the end of a line if there is one in its last third.
fn head(text: &str, bytes: usize) -> &str {
    let head = text.get(..floor(text, bytes)).unwrap_or_default();
    let least = head.len() - head.len() / 3;
    let line = head.rfind('\n').map(|at| at + 1).filter(|end| *end >= least);
    let word = || head.rfind(char::is_whitespace).filter(|end| *end >= least);
    let head = line.or_else(word).and_then(|end| head.get(..end)).unwrap_or(head);
    // Half an escape would not be readable.
    head.trim_end_matches('\\')
}

/// The end of a text, from the start of a line if there is one in its first third.
fn end(text: &str, bytes: usize) -> &str {
    let start = ceil(text, text.len().saturating_sub(bytes));
    let end = text.get(start..).unwrap_or_default();
    if start == 0 {
        return end;
    }
    let most = end.len() / 3;
    let line = end.find('\n').map(|at| at + 1).filter(|start| *start <= most);
    let word = || end.find(char::is_whitespace).filter(|start| *start <= most);
    line.or_else(word).and_then(|start| end.get(start..)).unwrap_or(end)
}

/// The last lines that look like errors, as many as fit; in their order.
fn trouble(text: &str, bytes: usize) -> Vec<&str> {
    let mut left = bytes;
    let mut lines = Vec::new();
    let mut lower = String::new();
    for line in text.lines().rev() {
        let cost = line.len() + 1;
        if line.len() > LONGEST_LINE || cost > left {
            continue;
        }
        lower.clear();
        lower.extend(line.chars().map(|c| c.to_ascii_lowercase()));
        if TROUBLE.iter().any(|word| lower.contains(word)) {
            left -= cost;
            lines.push(line);
        }
    }
    lines.reverse();
    lines
}

/// Longer ones are data.
const LONGEST_LINE: usize = 400;

fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}
