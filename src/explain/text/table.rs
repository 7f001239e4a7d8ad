//! Small helpers for tables in a terminal: numbers, bars, clipped text, colour.

use crate::names::GroupedNumber;

/// Groups digits by three: `20707` becomes `20,707`.
pub(super) fn thousands(number: i64) -> String {
    GroupedNumber(number).to_string()
}

/// A count, grouped like [`thousands`].
pub(super) fn count(number: usize) -> String {
    thousands(i64::try_from(number).unwrap_or(i64::MAX))
}

/// `1 item`, `2 items`.
pub(super) fn items(number: usize) -> String {
    format!("{} item{}", count(number), if number == 1 { "" } else { "s" })
}

/// `part` of `whole` between 0 and 1; 0 when there is no whole.
pub(super) fn share(part: i64, whole: i64) -> f64 {
    if whole > 0 { (part as f64 / whole as f64).clamp(0.0, 1.0) } else { 0.0 }
}

/// A bar in eighths of a cell, padded with spaces to `width`.
pub(super) fn bar(share: f64, width: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * (width * 8) as f64).round() as usize;
    let mut text = "█".repeat(eighths / 8);
    let rest = "▏▎▍▌▋▊▉".chars().nth((eighths % 8).wrapping_sub(1));
    // Something small is still something: never an empty bar for a share above zero.
    text.extend(rest.or((eighths == 0 && share > 0.0).then_some('▏')));
    let missing = width.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(missing))
}

/// The full and the empty part of a bar of `width` cells; it looks full only when it is.
pub(super) fn gauge(share: f64, width: usize) -> (String, String) {
    let full = (share.clamp(0.0, 1.0) * width as f64).floor() as usize;
    ("█".repeat(full), "░".repeat(width.saturating_sub(full)))
}

/// One line of at most `width` characters: white space and ruled lines collapse, the rest is cut.
/// Nothing in it moves the cursor or turns the direction of the line.
pub(super) fn clip(text: &str, width: usize) -> String {
    let mut line = String::new();
    let mut length = 0;
    let ruled = |word: &str| word.len() > 2 && word.chars().all(|c| "-=|+*_:".contains(c));
    for word in text.split_whitespace().filter(|word| !ruled(word)) {
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        // A character more than there is room for is enough to know that something is cut.
        for character in word.chars().take((width + 1).saturating_sub(length)) {
            line.push(if is_harmless(character) { character } else { '\u{fffd}' });
            length += 1;
        }
        if length > width {
            let cut: String = line.chars().take(width.saturating_sub(1)).collect();
            return format!("{}…", cut.trim_end());
        }
    }
    line
}

/// The longest title that is shown, in lines.
const LINES: usize = 6;

/// Breaks a text into lines of at most `width` characters, between words where it can.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let text = clip(text, width * LINES);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        for character in word.chars() {
            if line.chars().count() == width {
                lines.push(std::mem::take(&mut line));
            }
            line.push(character);
        }
    }
    lines.push(line);
    lines
}

/// Control characters, and those that turn the writing direction, could make a line lie.
fn is_harmless(character: char) -> bool {
    let turns = matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !character.is_control() && !turns
}

/// Colours for a person, plain text for a pipe.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    pub(super) colour: bool,
    pub(super) width: usize,
}

impl Paint {
    /// A title, a rule and a note that fill one line.
    pub(super) fn heading(self, title: &str, note: &str) -> String {
        let rule = self.width.saturating_sub(title.chars().count() + note.chars().count() + 3);
        format!("{} {} {}", self.title(title), self.faint(&"─".repeat(rule)), self.faint(note))
            .trim_end()
            .to_owned()
    }

    pub(super) fn title(self, text: &str) -> String {
        self.code("1", text)
    }

    pub(super) fn faint(self, text: &str) -> String {
        self.code("2", text)
    }

    pub(super) fn fill(self, text: &str) -> String {
        self.code("36", text)
    }

    pub(super) fn warn(self, text: &str) -> String {
        self.code("33", text)
    }

    fn code(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_move_the_cursor_or_turn_the_line() {
        assert_eq!(clip("a\u{1b}[2Jb\u{202e}c\u{9b}d\0", 40), "a�[2Jb�c�d�");
        assert_eq!(clip("one\n\ttwo  three", 40), "one two three");
    }

    #[test]
    fn a_line_is_never_longer_than_its_width() {
        assert_eq!(clip("abcdef", 6), "abcdef");
        assert_eq!(clip("abcdefg", 6), "abcde…");
        assert_eq!(clip("ab cd ef gh", 6), "ab cd…");
        assert_eq!(clip(&"x".repeat(1_000_000), 3), "xx…");
        assert_eq!(clip("| --- | :---: |", 40), "| | |");
        assert_eq!(clip("", 4), "");
    }
}
