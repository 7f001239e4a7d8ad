//! Excerpts of JSON that are JSON again: whole values from its head and its end.

use super::mark::Mark;

/// Whether a text looks like an object or a list.
pub(super) fn is_value(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('{') && text.ends_with('}') || text.starts_with('[') && text.ends_with(']')
}

/// About so many bytes of a JSON text; none when it cannot be cut between values, as when one
/// string is all of it.
pub(super) fn excerpt(
    text: &str,
    bytes: usize,
    mark: &Mark,
    count: &dyn Fn(&str) -> i64,
) -> Option<String> {
    let (head_bytes, end_bytes) = (bytes * 3 / 5, bytes * 2 / 5);
    let end_from = text.len().saturating_sub(end_bytes);
    let mut cut: Option<(usize, Vec<Open>)> = None;
    let mut end: Option<(usize, usize)> = None;
    let mut scan = Scan::new(text);
    while let Some(at) = scan.next_gap() {
        if at <= head_bytes {
            cut = Some((at, scan.open.clone()));
            continue;
        }
        let Some((_, open)) = &cut else { break };
        let inside = scan.open.len() <= open.len() && open.starts_with(&scan.open);
        if at >= end_from && inside && scan.after_comma {
            end = Some((at, scan.open.len()));
            break;
        }
    }
    let (at, open) = cut.filter(|(at, _)| *at * 4 >= head_bytes)?;
    // What is not closed is no JSON, and what follows the value would be lost.
    if end.is_none() && !scan.is_closed() {
        return None;
    }
    let head = text.get(..at)?;
    let last = match end {
        Some((from, _)) => text.get(from..)?,
        None => "",
    };
    let shown = count(head) + count(last);
    let mut out = String::with_capacity(bytes + 64);
    out.push_str(head);
    if open.last()?.brace == '{' {
        out.push_str("\"…\": ");
    }
    out.push('"');
    out.push_str(&mark.write(shown));
    out.push('"');
    let depth = end.map_or(0, |(_, depth)| depth);
    for open in open.get(depth..)?.iter().rev() {
        out.push(if open.brace == '{' { '}' } else { ']' });
    }
    if end.is_some() {
        out.push(',');
        out.push_str(last);
    }
    Some(out)
}

/// A list or an object that has begun.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Open {
    brace: char,
    at: usize,
}

/// Walks over JSON from one place between values to the next.
struct Scan<'a> {
    rest: std::str::CharIndices<'a>,
    open: Vec<Open>,
    after_comma: bool,
    broken: bool,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text.char_indices(), open: Vec::new(), after_comma: false, broken: false }
    }

    /// The next place behind a comma or an opening bracket.
    fn next_gap(&mut self) -> Option<usize> {
        let mut in_string = false;
        while let Some((at, c)) = self.rest.next() {
            match c {
                '\\' if in_string => drop(self.rest.next()),
                '"' => in_string = !in_string,
                _ if in_string => {}
                '{' | '[' => {
                    self.open.push(Open { brace: c, at });
                    self.after_comma = false;
                    return Some(at + 1);
                }
                '}' | ']' => {
                    let expected = if c == '}' { '{' } else { '[' };
                    self.broken |= self.open.pop().is_none_or(|open| open.brace != expected);
                }
                ',' => {
                    self.after_comma = true;
                    return Some(at + 1);
                }
                _ => {}
            }
        }
        self.broken |= in_string;
        None
    }

    fn is_closed(&self) -> bool {
        !self.broken && self.open.is_empty()
    }
}
