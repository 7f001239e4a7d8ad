//! The outline of a cell: a summary by rule, without a model.

use super::message::Role;
use super::plan::{CellContent, CellMessage};
use crate::tokens::TokenCounter;

/// Longest sentences of an outline in characters, from the first try to the last.
const LENGTHS: [usize; 5] = [400, 240, 160, 100, 60];

/// The first sentence of each of the user's messages and the outcome of each exchange, in at most so many
/// tokens. Where they do not fit, sentences are cut, and then the oldest lines are left out.
///
/// ```
/// use cupel::conversation::plan::{CellContent, CellMessage};
/// use cupel::conversation::{Role, outline};
/// use cupel::tokens::HeuristicCounter;
///
/// let cell = CellContent::new(vec![
///     CellMessage::new(Role::User, "Where is order 7? I ordered it on Monday.", 12),
///     CellMessage::new(Role::Assistant, "I am looking it up.", 6),
///     CellMessage::new(Role::Assistant, "I found it. Order 7 is in Lyon.", 9),
/// ]);
/// let text = outline(&cell, 60, &HeuristicCounter);
/// assert_eq!(text, "user: Where is order 7?\nassistant: I found it. Order 7 is in Lyon.");
/// ```
#[must_use]
pub fn outline(cell: &CellContent, limit: i64, counter: &dyn TokenCounter) -> String {
    let mut lines = outline_lines(&cell.messages);
    for length in LENGTHS {
        let text = written(&lines, length);
        if counter.count(&text) <= limit {
            return text;
        }
    }
    let shortest = LENGTHS.last().copied().unwrap_or_default();
    while lines.len() > 1 {
        lines.remove(0);
        let text = written(&lines, shortest);
        if counter.count(&text) <= limit {
            return text;
        }
    }
    String::new()
}

/// Speaker and words of each line.
fn outline_lines(messages: &[CellMessage]) -> Vec<(Role, &str)> {
    let mut lines = Vec::new();
    let mut outcome: Option<&str> = None;
    for message in messages {
        let text = message.text.trim();
        match message.role {
            _ if text.is_empty() => {}
            Role::User if !message.has_results => {
                lines.extend(outcome.take().map(|text| (Role::Assistant, text)));
                lines.push((Role::User, first_sentence(text)));
            }
            // The last words of an exchange are its outcome.
            Role::Assistant => outcome = Some(text),
            _ => {}
        }
    }
    lines.extend(outcome.map(|text| (Role::Assistant, text)));
    lines
}

fn written(lines: &[(Role, &str)], length: usize) -> String {
    let mut text = String::new();
    for (role, words) in lines {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(role.name());
        text.push_str(": ");
        let mut length = length;
        let mut spaced = false;
        for word in words.split_whitespace() {
            let Some(left) = length.checked_sub(word.chars().count() + usize::from(spaced)) else {
                text.push('…');
                break;
            };
            if spaced {
                text.push(' ');
            }
            text.push_str(word);
            (length, spaced) = (left, true);
        }
    }
    text
}

/// The first sentence of a text, or all of it.
fn first_sentence(text: &str) -> &str {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let ends = match c {
            '\n' | '。' | '！' | '？' => true,
            '.' | '!' | '?' | '…' => next.is_none_or(char::is_whitespace),
            _ => false,
        };
        if ends {
            return text.get(..at + c.len_utf8()).unwrap_or(text).trim_end();
        }
    }
    text
}
