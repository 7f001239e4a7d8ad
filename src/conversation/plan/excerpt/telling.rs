//! Lines between the head and the end of a text that are worth showing: errors, the headers and first
//! changes of diffs, the first and last frames of stack traces, definitions in source code.

use std::collections::VecDeque;

/// Words of lines that look like errors, in lower case.
const TROUBLE: [&str; 8] =
    ["error", "exception", "traceback", "panic", "fatal", "fail", "denied", "cannot"];
/// Longer lines are data.
const LONGEST_LINE: usize = 400;
/// Frames that are shown of each end of a stack trace, and changes of each hunk.
const FIRST: usize = 2;
/// First words of definitions in common languages.
const DEFINITIONS: &str = "abstract async class def enum export fn func function impl interface \
    module namespace package private protected pub public static struct trait type";

/// Byte range of lines.
type LineRange = (usize, usize);

/// The lines of one text that are worth showing.
pub(super) struct TellingLines<'a> {
    pub(super) text: &'a str,
    pub(super) is_diff: bool,
    errors: VecDeque<LineRange>,
    /// Headers of files in a diff, frames elsewhere.
    outer: Vec<LineRange>,
    /// Hunks of a diff, definitions elsewhere.
    inner: Vec<LineRange>,
}

impl<'a> TellingLines<'a> {
    /// Finds the lines of a text, not many more than what fits into so many bytes.
    pub(super) fn new(text: &'a str, bytes: usize) -> Self {
        let has = |line: &str| text.starts_with(line) || text.contains(&format!("\n{line}"));
        let is_git = has("diff --git ");
        let is_diff = is_git || has("@@ -");
        let (mut errors, mut outer, mut inner) = (VecDeque::new(), Vec::new(), Vec::new());
        let mut trace = Trace::default();
        let mut changes = 0;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let place = (at, at + line.len());
            at = place.1;
            let line = line.trim_end();
            let is_short = line.len() <= LONGEST_LINE;
            if is_diff && is_file(line, is_git) {
                changes = FIRST;
                outer.push(place);
            } else if is_diff && line.starts_with("@@") {
                changes = 0;
                inner.push(place);
            } else if is_diff && changes < FIRST && is_short && line.starts_with(['+', '-']) {
                changes += 1;
                inner.push(place);
            } else if !is_diff {
                trace.line(line, place, &mut outer);
                if is_short && is_definition(line) {
                    inner.push(place);
                }
            }
            // The last errors tell most, of other lines the first.
            if is_short && is_trouble(line) {
                errors.push_back(place);
                errors.drain(..errors.len().saturating_sub(bytes));
            }
            outer.truncate(bytes);
            inner.truncate(bytes);
        }
        trace.end(&mut outer);
        Self { text, is_diff, errors, outer, inner }
    }

    /// Returns true if there are lines other than errors.
    fn is_structured(&self) -> bool {
        !self.outer.is_empty() || !self.inner.is_empty()
    }

    /// The share of an excerpt that these lines may take.
    pub(super) fn share(&self, bytes: usize) -> usize {
        match self.is_diff {
            true => bytes / 2,
            false if self.is_structured() => bytes * 3 / 10,
            false => bytes / 5,
        }
    }

    /// As many lines of a part of the text as fit, in their order: their places.
    pub(super) fn within(&self, part: std::ops::Range<usize>, bytes: usize) -> Vec<LineRange> {
        let mut chosen = Vec::new();
        let mut left = bytes;
        let mut take = |lines: &mut dyn Iterator<Item = &LineRange>, least: usize| {
            for place in lines.filter(|place| place.0 >= part.start && place.1 <= part.end) {
                let cost = place.1 - place.0 + 4;
                if left >= cost + least {
                    left -= cost;
                    chosen.push(*place);
                }
            }
        };
        // The first kind leaves something for the others.
        let least = if self.is_structured() { bytes / 3 } else { 0 };
        if self.is_diff {
            take(&mut self.outer.iter(), least);
            take(&mut self.inner.iter(), 0);
            take(&mut self.errors.iter().rev(), 0);
        } else {
            take(&mut self.errors.iter().rev(), least);
            take(&mut self.outer.iter(), 0);
            take(&mut self.inner.iter(), 0);
        }
        chosen.sort_unstable();
        chosen
    }
}

fn is_trouble(line: &str) -> bool {
    let line = line.as_bytes();
    let has = |word: &str| {
        line.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
    };
    TROUBLE.iter().any(|word| has(word))
}

/// Returns true if a line is the header of a file in a diff. Of git's headers only the first line counts.
fn is_file(line: &str, is_git: bool) -> bool {
    let of_git = ["diff --git ", "rename to ", "new file ", "deleted file ", "Binary files "];
    let others = ["--- ", "+++ ", "Index: "];
    let starts = if is_git { &of_git[..] } else { &others[..] };
    starts.iter().any(|start| line.starts_with(start))
}

/// Returns true if a line of source code begins a definition. A line number before it is skipped.
fn is_definition(line: &str) -> bool {
    if !line.ends_with(['{', '}', ':', '(', ')', ';', ',', '=']) {
        return false;
    }
    let is_number = |c: char| c.is_ascii_digit() || c.is_whitespace() || matches!(c, ':' | '|');
    let code = line.trim_start_matches(is_number);
    let word = code.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    DEFINITIONS.split(' ').any(|first| first == word)
}

/// The stack trace that lines are in: its first and last frames so far.
#[derive(Default)]
struct Trace {
    frames: Vec<LineRange>,
    /// True if the previous line was the head of a frame.
    in_frame: bool,
}

impl Trace {
    fn line(&mut self, line: &str, place: LineRange, shown: &mut Vec<LineRange>) {
        if is_frame(line) {
            self.in_frame = true;
            if self.frames.len() == FIRST * 2 {
                self.frames.remove(FIRST);
            }
            self.frames.push(place);
        } else if !self.frames.is_empty() && line.starts_with([' ', '\t']) {
            // The code of a frame, and signs under it.
            if let Some(frame) = self.frames.last_mut().filter(|_| self.in_frame) {
                frame.1 = place.1;
            }
            self.in_frame = false;
        } else {
            self.end(shown);
        }
    }

    fn end(&mut self, shown: &mut Vec<LineRange>) {
        // A line that looks like one frame is none.
        if self.frames.len() > 1 {
            shown.extend(self.frames.iter().filter(|(from, to)| to - from <= LONGEST_LINE * 2));
        }
        self.frames.clear();
    }
}

/// Returns true if a line is a frame of Java, JavaScript, C#, Python, Ruby, Rust, Go or a debugger.
fn is_frame(line: &str) -> bool {
    let code = line.trim_start();
    if code.len() == line.len() {
        // `#3  0x00007f in main () at a.c:7`
        let number = code
            .strip_prefix('#')
            .map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        return number.is_some_and(|rest| rest.starts_with("  ") && rest.contains(" in "));
    }
    let begins = code.starts_with("at ") || code.starts_with("from ");
    let named = begins && code.contains([':', '(']);
    let python = code.starts_with("File \"") && code.contains("\", line ");
    let counted = code.trim_start_matches(|c: char| c.is_ascii_digit());
    let rust = counted.len() < code.len() && counted.starts_with(": ") && counted.contains("::");
    let go = code.contains(".go:") && code.contains(" +0x");
    named || python || rust || go
}
