//! Paragraphs of a message that are the user's own words.
//!
//! In doubt a line is left out: a missed order can be said again, an order of a document must not be
//! followed.

use std::collections::BTreeMap;
use std::ops::Range;

use super::forms::line_words::{
    DEMONSTRATIVES, FRAME_WORDS, GREETINGS, LABELS, MAIL_HEADERS, NAMES, PASTED_TEXTS, RULE_WORDS,
    SIGN_OFFS, VOID_TAGS,
};

/// Longer paragraphs are prose that somebody pasted.
const MOST_WORDS: usize = 60;

/// Own paragraphs of a text of at most 60 words, without what stands in quotation marks.
pub(super) fn own_paragraphs(text: &str) -> Vec<Paragraph> {
    let lines = ParagraphReader::new(text).own_lines();
    let quoted = quoted(text, &lines);
    let mut paragraphs: Vec<Paragraph> = Vec::new();
    for Line { range, begins } in lines {
        match paragraphs.last_mut().filter(|_| !begins) {
            Some(last) => last.range.end = range.end,
            None => paragraphs.push(Paragraph { range, quoted: Vec::new() }),
        }
    }
    let short = |paragraph: &Paragraph| {
        let words = text.get(paragraph.range.clone()).unwrap_or_default().split_whitespace();
        words.take(MOST_WORDS + 1).count() <= MOST_WORDS
    };
    paragraphs.retain(short);
    for paragraph in &mut paragraphs {
        let within = |quote: &&Range<usize>| {
            quote.start < paragraph.range.end && paragraph.range.start < quote.end
        };
        paragraph.quoted = quoted.iter().filter(within).cloned().collect();
    }
    paragraphs
}

/// A run of own lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Paragraph {
    pub(super) range: Range<usize>,
    /// Ranges that stand in quotation marks.
    pub(super) quoted: Vec<Range<usize>>,
}

/// A line of the user's own.
struct Line {
    range: Range<usize>,
    /// It does not go on with the line before.
    begins: bool,
}

/// Reads a text line by line.
struct ParagraphReader<'a> {
    text: &'a str,
    /// Last closing of each tag.
    closings: BTreeMap<String, usize>,
    tags: Vec<String>,
    fence: Option<&'static str>,
    in_comment: bool,
    /// Between two lines like `---`.
    is_apart: bool,
    /// The rest of the text is somebody else's.
    is_pasted: bool,
    /// The line before speaks of a text, which follows.
    is_announced: bool,
}

impl<'a> ParagraphReader<'a> {
    fn new(text: &'a str) -> Self {
        let mut closings = BTreeMap::new();
        for tag in tags(text).filter(|tag| tag.closes) {
            closings.insert(tag.name, tag.at);
        }
        let (tags, fence) = (Vec::new(), None);
        let (in_comment, is_apart, is_pasted, is_announced) = (false, false, false, false);
        Self { text, closings, tags, fence, in_comment, is_apart, is_pasted, is_announced }
    }

    fn own_lines(mut self) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        let mut begins = true;
        let mut start = 0;
        for raw in self.text.split_inclusive('\n') {
            let line = raw.trim();
            let from = start + (raw.len() - raw.trim_start().len());
            let range = from..from + line.len();
            let indented = raw.starts_with("    ") || raw.starts_with('\t');
            start += raw.len();
            if is_sign_off(line) {
                // All up to here was a letter.
                lines.clear();
                self.is_pasted = true;
            }
            if line.is_empty() || !self.is_own(line, from, indented) || self.is_pasted {
                begins = true;
                continue;
            }
            let item = item_text(line);
            let is_item = item.len() < line.len();
            let range = range.end - item.len()..range.end;
            lines.push(Line { range, begins: begins || is_item });
            begins = false;
        }
        lines
    }

    /// Tests if a line is the user's, and not code, a quote, a tag, a header or part of what was pasted.
    fn is_own(&mut self, line: &str, at: usize, indented: bool) -> bool {
        if let Some(fence) = self.fence {
            if line.starts_with(fence) {
                self.fence = None;
            }
            return false;
        }
        self.fence = ["```", "~~~"].into_iter().find(|fence| line.starts_with(*fence));
        if self.fence.is_some() {
            return false;
        }
        if self.in_comment || line.starts_with("/*") {
            self.in_comment = !line.contains("*/");
            return false;
        }
        if self.passes_tags(line, at) || is_mark(line) {
            self.is_pasted |= begins_document(line);
            return false;
        }
        if is_separator(line) {
            self.is_apart = !self.is_apart;
            return false;
        }
        self.is_pasted |= begins_paste(line) || begins_document(line);
        if self.is_announced {
            self.is_pasted = true;
        }
        self.is_announced = announces(line);
        let item = item_text(line);
        let is_code = indented && item.len() == line.len()
            || [" # ", " // "].iter().any(|comment| line.contains(comment));
        !(self.is_apart || is_code || is_header(item) || item.contains(['{', '}']))
    }

    /// Follows the tags of a line. Returns whether any of it is inside of one.
    fn passes_tags(&mut self, line: &str, at: usize) -> bool {
        let mut inside = !self.tags.is_empty();
        for tag in tags(line) {
            inside = true;
            let is_closed = self.closings.get(&tag.name).is_some_and(|end| *end > at + tag.at);
            if tag.closes {
                if let Some(open) = self.tags.iter().rposition(|open| *open == tag.name) {
                    self.tags.truncate(open);
                }
            } else if is_closed {
                self.tags.push(tag.name);
            } else if tag.at == 0 && !tag.is_void {
                self.is_pasted = true;
            }
        }
        inside
    }
}

struct Tag {
    name: String,
    at: usize,
    closes: bool,
    /// Has no content.
    is_void: bool,
}

/// Tags of a text. `Vec<String>` has none: a tag follows no letter.
fn tags(text: &str) -> impl Iterator<Item = Tag> {
    text.match_indices('<').filter_map(|(at, _)| {
        let before = text.get(..at)?.chars().next_back();
        if before.is_some_and(|before| before.is_alphanumeric() || before == '`') {
            return None;
        }
        let rest = text.get(at + 1..)?;
        let closes = rest.starts_with('/');
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        let is_name = |c: char| c.is_alphanumeric() || "_-:!?|".contains(c);
        let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        let name = rest.get(..end)?.to_lowercase();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let behind = rest.get(end..)?;
        let within = behind.find(['>', '\n']).and_then(|end| behind.get(..end));
        let is_void = within.is_some_and(|within| within.ends_with('/'))
            || VOID_TAGS.contains(&&*name)
            || name.starts_with(['!', '?']);
        Some(Tag { name, at, closes, is_void })
    })
}

/// Tests if a line begins with the mark of a quote, a heading, a table or a comment.
fn is_mark(line: &str) -> bool {
    ["> ", "#", "|", "//", "--", ";;", "* @", "%", "$ ", "@", "+++", "["]
        .iter()
        .any(|mark| line.starts_with(mark) && !is_separator(line))
        || line.starts_with('>')
}

/// Tests if a line is nothing but a rule, such as `---`.
fn is_separator(line: &str) -> bool {
    line.len() >= 3 && line.chars().all(|c| "-=*_~—".contains(c))
}

/// A line without the mark of a list's item.
fn item_text(line: &str) -> &str {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = line.get(digits..).unwrap_or_default();
    let marks: &[&str] = if digits > 0 { &[". ", ") "] } else { &["- ", "* ", "• ", "– "] };
    let stripped = marks.iter().find_map(|mark| rest.strip_prefix(mark));
    stripped.filter(|_| digits < 3).map_or(line, str::trim_start)
}

/// Tests if a line has the form `Name: value` with a name that no remark of a user begins with.
fn is_header(line: &str) -> bool {
    let Some((name, _)) = line.split_once(':') else { return false };
    let is_name = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.chars().all(is_name) && !LABELS.contains(&&*name.to_lowercase())
}

/// Tests if the text behind a line is somebody else's: mail, a transcript, search results, a letter.
fn begins_paste(line: &str) -> bool {
    let line = line.trim_matches(|c: char| "*_-= ".contains(c)).to_lowercase();
    let words = || line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let is_in = |list: &[&str]| words().any(|word| list.contains(&word));
    let first = words().next().unwrap_or_default();
    let is_greeting = GREETINGS.contains(&first)
        && line.ends_with([',', '!'])
        && words().count() <= 4
        && words().nth(1).is_some_and(|name| !NAMES.contains(&name));
    if is_greeting || line.contains("original message") || line.contains("forwarded message") {
        return true;
    }
    let Some((label, behind)) = line.split_once(':') else { return false };
    if MAIL_HEADERS.contains(&label.trim()) {
        return true;
    }
    let label_words = label.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let (mut count, mut framed) = (0, false);
    for word in label_words {
        count += 1;
        framed |= FRAME_WORDS.contains(&word);
    }
    match behind.trim().is_empty() {
        // `Context: …`
        false => framed && count <= 3,
        // `This is what my boss wrote:`, and whatever is not clearly an announcement of rules.
        true => framed || !is_in(RULE_WORDS),
    }
}

/// Tests if a line is the first one of a document, of a change to files, of a page or of a chat: a heading that
/// announces no rules, an address, a name with a time.
fn begins_document(line: &str) -> bool {
    let is_change = ["diff --git", "@@ ", "+++ ", "Traceback", "Index: "];
    if is_change.iter().any(|start| line.starts_with(start)) {
        return true;
    }
    if let Some(heading) = line.strip_prefix('#') {
        return !is_any_in(heading, RULE_WORDS);
    }
    let words = line.split_whitespace().count();
    let is_address = ["http://", "https://", "www."].iter().any(|start| line.starts_with(start));
    is_address && words == 1 || words <= 6 && ends_with_time(line)
}

/// Tests if a line ends with a time of day, as a message copied from a chat begins.
fn ends_with_time(line: &str) -> bool {
    let line = line.trim_end_matches([']', ')']);
    let line =
        ["AM", "PM", "am", "pm"].iter().find_map(|half| line.strip_suffix(half)).unwrap_or(line);
    let time = line.split_whitespace().next_back().unwrap_or_default();
    let is_number =
        |part: &str| (1..=2).contains(&part.len()) && part.bytes().all(|it| it.is_ascii_digit());
    let mut parts = time.trim_start_matches(['[', '(']).split(':');
    let count = parts.clone().count();
    (2..=3).contains(&count) && parts.all(is_number) && line.len() > time.len()
}

/// Tests if a line speaks of a text that somebody else wrote: `What does this mail want?`
fn announces(line: &str) -> bool {
    let line = line.to_lowercase();
    let mut before = "";
    line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).any(|word| {
        let found = DEMONSTRATIVES.contains(&before) && PASTED_TEXTS.contains(&word);
        before = word;
        found
    })
}

fn is_any_in(line: &str, list: &[&str]) -> bool {
    let line = line.to_lowercase();
    line.split(|c: char| !c.is_alphanumeric()).any(|word| list.contains(&word))
}

/// Tests if a line ends a letter.
fn is_sign_off(line: &str) -> bool {
    let line = line.trim_end_matches([',', '.', '!']);
    line.len() <= 40 && {
        let line = line.to_lowercase();
        SIGN_OFFS.iter().any(|words| line == *words)
    }
}

/// Ranges of own lines that stand in quotation marks. One that is not closed lasts to the end.
fn quoted(text: &str, lines: &[Line]) -> Vec<Range<usize>> {
    let mut quoted = Vec::new();
    let mut open: Option<(usize, char)> = None;
    let mut before = ' ';
    for line in lines {
        let own = text.get(line.range.clone()).unwrap_or_default();
        for (at, c) in own.char_indices().map(|(at, c)| (line.range.start + at, c)) {
            match open {
                Some((start, close)) if c == close && !(c == '\'' && goes_on(text, at)) => {
                    quoted.push(start..at + c.len_utf8());
                    open = None;
                }
                // An apostrophe quotes no more than its line.
                Some((_, '\'')) if at + c.len_utf8() == line.range.end => open = None,
                Some(_) => {}
                None => open = opened(c, before).map(|close| (at, close)),
            }
            before = c;
        }
        before = ' ';
    }
    quoted.extend(open.filter(|(_, close)| *close != '\'').map(|(start, _)| start..text.len()));
    quoted
}

/// Tests if the apostrophe here is inside of a word.
fn goes_on(text: &str, at: usize) -> bool {
    let next = text.get(at + 1..).and_then(|rest| rest.chars().next());
    next.is_some_and(char::is_alphanumeric)
}

/// The sign that closes what this one opens.
fn opened(c: char, before: char) -> Option<char> {
    match c {
        '"' if !before.is_numeric() => Some('"'),
        '“' => Some('”'),
        '„' => Some('“'),
        '«' => Some('»'),
        '\'' if before.is_whitespace() || before == '(' => Some('\''),
        _ => None,
    }
}
