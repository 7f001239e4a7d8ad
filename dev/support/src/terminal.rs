//! Small helpers for tables in a terminal: numbers, bars, clipped text, colour.

use std::io::IsTerminal;

/// No line is longer than this.
pub const WIDTH: usize = 100;

/// Groups digits by three: `20707` becomes `20,707`.
pub fn thousands(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count for a `usize`, grouped like [`thousands`].
pub fn count(number: usize) -> String {
    thousands(i64::try_from(number).unwrap_or(i64::MAX))
}

/// A bar in eighths of a cell, padded with spaces to `width`.
pub fn bar(share: f64, width: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * (width * 8) as f64).round() as usize;
    let mut text = "█".repeat(eighths / 8);
    let rest = "▏▎▍▌▋▊▉".chars().nth((eighths % 8).wrapping_sub(1));
    // Something small is still something: never an empty bar for a share above zero.
    text.extend(rest.or((eighths == 0 && share > 0.0).then_some('▏')));
    pad(&text, width)
}

/// The lines of an area chart, top first: one column for each share, in eighths of a cell.
pub fn area(shares: &[f64], height: usize) -> Vec<String> {
    let eighths = |share: f64| (share.clamp(0.0, 1.0) * (height * 8) as f64).round() as usize;
    let cell = |row: usize, share: f64| {
        let full = eighths(share).saturating_sub(row * 8).min(8);
        " ▁▂▃▄▅▆▇█".chars().nth(full).unwrap_or(' ')
    };
    (0..height).rev().map(|row| shares.iter().map(|share| cell(row, *share)).collect()).collect()
}

/// `1 item`, `2 items`.
pub fn items(number: usize) -> String {
    format!("{} item{}", count(number), if number == 1 { "" } else { "s" })
}

/// One line of at most `width` characters: white space and ruled lines collapse, the rest is cut.
pub fn clip(text: &str, width: usize) -> String {
    let words = text.split_whitespace().filter(|word| !word.contains("---"));
    let line = words.collect::<Vec<_>>().join(" ");
    if line.chars().count() <= width {
        return line;
    }
    let cut = line.chars().take(width.saturating_sub(1)).collect::<String>();
    format!("{}…", cut.trim_end())
}

/// Breaks a text into lines of at most `width` characters, between words.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(missing))
}

/// Colours for a person, plain text for a pipe.
#[derive(Clone, Copy)]
pub struct Paint(bool);

impl Paint {
    /// Colour only on a terminal, and only if nobody asked for none (`NO_COLOR`).
    pub fn for_stdout() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self(std::io::stdout().is_terminal() && !refused)
    }

    /// A title, a rule and a note that fill one line.
    pub fn heading(self, title: &str, note: &str) -> String {
        let rule = WIDTH.saturating_sub(title.chars().count() + note.chars().count() + 3);
        format!("{} {} {}", self.title(title), self.faint(&"─".repeat(rule)), self.faint(note))
    }

    pub fn title(self, text: &str) -> String {
        self.code("1", text)
    }

    pub fn faint(self, text: &str) -> String {
        self.code("2", text)
    }

    pub fn fill(self, text: &str) -> String {
        self.code("36", text)
    }

    pub fn warn(self, text: &str) -> String {
        self.code("33", text)
    }

    fn code(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
