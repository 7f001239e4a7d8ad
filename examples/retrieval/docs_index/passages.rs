//! Cuts Markdown files and doc comments into passages small enough to be selected one by one.

use super::Passage;

/// Paragraphs are put together up to this many characters, about 80 tokens.
const LENGTH: usize = 320;

/// One passage a paragraph, list entry or table row, each under its heading.
pub(crate) fn of_markdown(path: &str, text: &str) -> Vec<Passage> {
    let mut passages = Vec::new();
    let mut heading = String::new();
    let mut open: Option<Passage> = None;
    let mut fence = Fence::default();
    for (number, line) in (1_u64..).zip(text.lines()) {
        let line = line.trim();
        if fence.hides(line) {
            passages.extend(open.take());
            continue;
        }
        let (is_row, is_entry) = (line.starts_with('|'), line.starts_with("- "));
        let is_heading = line.starts_with('#');
        if line.is_empty() || is_row || is_entry || is_heading {
            passages.extend(open.take());
        }
        if is_heading {
            heading = line.trim_start_matches('#').trim().to_owned();
        } else if !line.is_empty() && !line.starts_with("| ---") {
            let said = if is_row { cells(line) } else { line.trim_start_matches("- ").to_owned() };
            match &mut open {
                Some(passage) => push(&mut passage.text, &said),
                none => {
                    let text = format!("{heading}: {said}");
                    *none = Some(Passage { path: path.to_owned(), line: number, text });
                }
            }
        }
    }
    passages.extend(open);
    passages
}

/// The cells of a table's row as one line.
fn cells(row: &str) -> String {
    let cells = row.trim_matches('|').split(" | ").map(str::trim).filter(|cell| !cell.is_empty());
    cells.collect::<Vec<_>>().join(": ")
}

/// The doc comments, each with the line of code it describes: a constant's value is in there.
pub(crate) fn of_rust(path: &str, text: &str) -> Vec<Passage> {
    let mut passages = Vec::new();
    let mut comment = Comment::default();
    for (number, line) in (1_u64..).zip(text.lines()) {
        let line = line.trim();
        let said = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        match said {
            Some(said) => comment.read(number, said.trim()),
            // Attributes stand between a comment and what it describes.
            None if line.starts_with("#[") => {}
            None => {
                let code = line.trim_end_matches(['{', ' ', ';', ',']);
                comment.describe(number, code);
                passages.extend(std::mem::take(&mut comment).passages(path));
            }
        }
    }
    passages.extend(comment.passages(path));
    passages
}

/// A doc comment being read: its paragraphs, each with the number of its first line.
#[derive(Default)]
struct Comment {
    paragraphs: Vec<(u64, String)>,
    fence: Fence,
    /// True if the next line begins a paragraph.
    is_new: bool,
}

impl Comment {
    fn read(&mut self, number: u64, said: &str) {
        // Headings such as "# Errors" say nothing by themselves.
        if self.fence.hides(said) || said.is_empty() || said.starts_with("# ") {
            self.is_new = true;
            return;
        }
        match self.paragraphs.last_mut() {
            Some((_, text)) if !self.is_new && !said.starts_with("- ") => push(text, said),
            _ => self.paragraphs.push((number, said.to_owned())),
        }
        self.is_new = false;
    }

    fn describe(&mut self, number: u64, code: &str) {
        if !self.paragraphs.is_empty() && !code.is_empty() {
            self.paragraphs.push((number, format!("`{code}`")));
        }
    }

    /// Puts short paragraphs together.
    fn passages(self, path: &str) -> Vec<Passage> {
        let mut passages: Vec<Passage> = Vec::new();
        for (line, paragraph) in self.paragraphs {
            match passages.last_mut() {
                Some(last) if last.text.len() + paragraph.len() < LENGTH => {
                    push(&mut last.text, &paragraph);
                }
                _ => passages.push(Passage { path: path.to_owned(), line, text: paragraph }),
            }
        }
        passages
    }
}

/// Tells prose from the code blocks in it.
#[derive(Default)]
struct Fence {
    inside: bool,
}

impl Fence {
    fn hides(&mut self, line: &str) -> bool {
        let is_fence = line.starts_with("```");
        self.inside ^= is_fence;
        self.inside || is_fence
    }
}

fn push(text: &mut String, more: &str) {
    text.push(' ');
    text.push_str(more);
}
