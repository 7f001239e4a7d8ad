//! Passages of long messages, which compete to be recalled one by one.

use std::ops::Range;

use super::super::message::Role;

/// Tokens of the longest passage.
const PASSAGE_TOKENS: i64 = 96;
/// Tokens of the longest unit that is quoted whole. What a user says is about one thing more often than
/// what a model or a tool answers.
const WHOLE_TOKENS: i64 = 128;
const WHOLE_USER_TOKENS: i64 = 256;

/// Tokens of the longest unit that is quoted whole, by the role of its first message.
pub(super) fn longest_whole(role: Option<Role>) -> i64 {
    if role == Some(Role::User) { WHOLE_USER_TOKENS } else { WHOLE_TOKENS }
}

/// A part of the conversation that competes to be recalled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passage {
    /// The unit that it belongs to.
    pub(super) unit: usize,
    /// Message and range of bytes in its text; none if the passage is the whole unit.
    pub(super) excerpt: Option<(usize, Range<usize>)>,
    /// About as many tokens as it takes when it is quoted.
    pub(super) tokens: i64,
}

/// Splits a text of so many tokens into ranges of bytes. Passages end with a line or a sentence where
/// they can.
pub(super) fn split(text: &str, tokens: i64) -> Vec<Range<usize>> {
    let tokens = usize::try_from(tokens).unwrap_or(usize::MAX).max(1);
    let limit = (text.len() as f64 / tokens as f64 * PASSAGE_TOKENS as f64) as usize;
    let limit = limit.max(16);
    let mut ranges = Vec::new();
    let mut start = 0;
    while let Some(rest) = text.get(start..).filter(|rest| !rest.is_empty()) {
        // A short rest is no passage of its own.
        let length = if rest.len() <= limit / 4 * 5 { rest.len() } else { end(rest, limit) };
        ranges.push(start..start + length);
        start += length;
    }
    ranges
}

/// Length of the first passage of a text that is longer than the limit.
fn end(text: &str, limit: usize) -> usize {
    let most = (0..=limit).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let head = text.get(..most).unwrap_or(text);
    let mut next = text.get(most..).and_then(|rest| rest.chars().next());
    let mut space = None;
    for (at, sign) in head.char_indices().rev() {
        let after = at + sign.len_utf8();
        let ends_sentence = match sign {
            '\n' | '。' | '！' | '？' => true,
            '.' | '!' | '?' | '…' => next.is_some_and(char::is_whitespace),
            _ => false,
        };
        if ends_sentence && at >= limit / 3 {
            return after;
        }
        if sign.is_whitespace() && space.is_none() {
            space = Some(after);
        }
        next = Some(sign);
    }
    // Never empty: the limit is longer than any sign.
    space.unwrap_or(most)
}

/// Puts ranges of one text in order, and joins those that touch.
pub(super) fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|later, earlier| {
        let touch = later.start <= earlier.end;
        if touch {
            earlier.end = earlier.end.max(later.end);
        }
        touch
    });
    ranges
}

/// The passages of a text in a row, with an ellipsis wherever something is left out.
pub(super) fn quoted(text: &str, ranges: &[Range<usize>]) -> String {
    let mut quoted = String::new();
    let mut end = 0;
    for range in ranges {
        if range.start > end {
            quoted.push_str(if end == 0 { "… " } else { " … " });
        }
        quoted.push_str(text.get(range.clone()).unwrap_or_default().trim());
        end = range.end;
    }
    if (1..text.len()).contains(&end) {
        quoted.push_str(" …");
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_are_whole_sentences_and_cover_the_text() {
        let text = "One sentence of a few words stands here. ".repeat(40);
        let ranges = split(&text, 400);
        assert!(ranges.len() >= 4, "{ranges:?}");
        assert_eq!(ranges.first().map(|range| range.start), Some(0));
        assert_eq!(ranges.last().map(|range| range.end), Some(text.len()));
        for pair in ranges.windows(2) {
            assert_eq!(pair[0].end, pair[1].start);
            assert!(text[pair[0].clone()].trim_end().ends_with('.'));
        }
    }

    #[test]
    fn a_text_without_sentences_is_split_between_signs() {
        for text in ["ü".repeat(900), "x".repeat(1_000), "字".repeat(700)] {
            let ranges = split(&text, 300);
            assert!(ranges.len() >= 3);
            assert_eq!(
                ranges.iter().map(|range| text[range.clone()].len()).sum::<usize>(),
                text.len()
            );
        }
    }

    #[test]
    fn an_ellipsis_stands_where_something_is_left_out() {
        let text = "One. Two. Three. Four.";
        assert_eq!(quoted(text, &[0..4, 9..16]), "One. … Three. …");
        assert_eq!(quoted(text, &joined(vec![10..22, 5..10])), "… Two. Three. Four.");
        assert_eq!(quoted(text, &joined(vec![0..10, 10..22])), text);
    }
}
