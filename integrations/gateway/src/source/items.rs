//! What a retriever answers with: a list, a table with one, or a line for each item.

use bytes::BytesMut;
use cupel::gather::BoxError;
use cupel::tokens::{HeuristicCounter, TokenCounter};
use cupel::{ContextItem, ContextKind, ContextSource};
use serde::Deserialize;

/// One item as it is sent.
#[derive(Debug, Deserialize)]
struct Item {
    #[serde(alias = "content")]
    text: String,
    /// How close it is to the question, from 0 to 1.
    score: Option<f64>,
}

/// All items at once.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Whole {
    List(Vec<Item>),
    Table { items: Vec<Item> },
}

/// Reads items.
#[derive(Debug)]
pub(super) struct Items {
    lines: bool,
    left: usize,
    over: bool,
}

impl Items {
    pub(super) fn new(lines: bool, most: usize) -> Self {
        Self { lines, left: most, over: false }
    }

    /// Whether nothing more comes.
    pub(super) fn is_over(&self) -> bool {
        self.over || self.left == 0
    }

    /// The items of whole lines, which leave the buffer.
    pub(super) fn take(&mut self, held: &mut BytesMut) -> Result<Vec<ContextItem>, BoxError> {
        let mut items = Vec::new();
        while let (true, Some(end)) = (self.lines, held.iter().position(|byte| *byte == b'\n')) {
            let line = held.split_to(end + 1);
            self.add(&line, &mut items)?;
        }
        Ok(items)
    }

    /// The items of what is left when the answer ends.
    pub(super) fn end(&mut self, held: &[u8]) -> Result<Vec<ContextItem>, BoxError> {
        self.over = true;
        let mut items = Vec::new();
        if self.lines {
            self.add(held, &mut items)?;
            return Ok(items);
        }
        let whole: Whole = serde_json::from_slice(held)
            .map_err(|_| "expected a list of {text, score}, or {items: […]}")?;
        let (Whole::List(list) | Whole::Table { items: list }) = whole;
        let texts = list.into_iter().filter(|item| !item.text.is_empty());
        texts.take(self.left).map(item).collect()
    }

    fn add(&mut self, line: &[u8], items: &mut Vec<ContextItem>) -> Result<(), BoxError> {
        if line.trim_ascii().is_empty() || self.left == 0 {
            return Ok(());
        }
        let read: Item =
            serde_json::from_slice(line).map_err(|_| "expected {text, score} on every line")?;
        // Nothing is no item, and no reason to do without the others.
        if !read.text.is_empty() {
            self.left -= 1;
            items.push(item(read)?);
        }
        Ok(())
    }
}

/// An item of the core's. Its tokens are counted again once it is known how it will be written.
fn item(read: Item) -> Result<ContextItem, BoxError> {
    let tokens = HeuristicCounter.count(&read.text);
    let mut item = ContextItem::builder(read.text, tokens)
        .kind(ContextKind::document())
        .source(ContextSource::rag());
    if let Some(score) = read.score.filter(|score| score.is_finite()) {
        item = item.future_relevance_hint(score.clamp(0.0, 1.0));
    }
    Ok(item.build()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(items: &[ContextItem]) -> Vec<&str> {
        items.iter().map(ContextItem::content).collect()
    }

    #[test]
    fn lists_tables_and_lines_are_read() {
        for whole in [
            r#"[{"text":"a","score":0.5},{"content":"b"}]"#,
            r#"{"items":[{"text":"a"},{"text":"b"}]}"#,
        ] {
            let items = Items::new(false, 10).end(whole.as_bytes()).unwrap();
            assert_eq!(texts(&items), ["a", "b"]);
        }
        let mut lines = Items::new(true, 3);
        let mut held =
            BytesMut::from(&b"{\"text\":\"a\"}\n\n{\"text\":\"b\",\"score\":7}\n{\"te"[..]);
        let items = lines.take(&mut held).unwrap();
        assert_eq!(texts(&items), ["a", "b"]);
        assert_eq!(items[1].future_relevance_hint(), Some(1.0));
        held.extend_from_slice(b"xt\":\"c\"}\n{\"text\":\"d\"}");
        assert_eq!(texts(&lines.take(&mut held).unwrap()), ["c"]);
        assert!(lines.end(&held).unwrap().is_empty());
    }

    #[test]
    fn an_empty_text_does_not_take_the_others_with_it() {
        let whole = br#"[{"text":""},{"text":"a"},{"text":""},{"text":"b"}]"#;
        assert_eq!(texts(&Items::new(false, 2).end(whole).unwrap()), ["a", "b"]);
        let mut held = BytesMut::from(&b"{\"text\":\"\"}\n{\"text\":\"a\"}\n"[..]);
        assert_eq!(texts(&Items::new(true, 1).take(&mut held).unwrap()), ["a"]);
    }

    #[test]
    fn anything_else_is_an_error() {
        assert!(Items::new(false, 10).end(b"{}").is_err());
        assert!(Items::new(true, 10).end(b"[1]").is_err());
    }
}
