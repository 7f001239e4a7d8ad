//! A tool with long answers.

use std::convert::Infallible;

use rig_core::tool::{Tool, ToolContext};
use serde::Deserialize;

use super::filler;

/// Reads a page of a book.
#[derive(Debug, Clone)]
pub(crate) struct ReadPage;

#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    pub(crate) page: usize,
}

/// The second page is long, so that two pages do not fit; the others are short.
pub(crate) fn page(number: usize) -> String {
    let words = if number == 2 { 250 } else { 60 };
    format!("page-{number} {}", filler(words - 1))
}

impl Tool for ReadPage {
    const NAME: &'static str = "read_page";
    type Args = Page;
    type Output = String;
    type Error = Infallible;

    fn description(&self) -> String {
        "Reads a page of the book.".to_owned()
    }

    fn parameters(&self) -> serde_json::Value {
        serde_json::json!({
            "type": "object",
            "properties": { "page": { "type": "integer" } },
            "required": ["page"],
        })
    }

    async fn call(&self, _: &mut ToolContext, args: Page) -> Result<String, Infallible> {
        Ok(page(args.page))
    }
}
