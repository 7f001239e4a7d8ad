//! The agent's tools.

use rig_core::tool::{Tool, ToolContext, ToolExecutionError};
use serde::Deserialize;

use crate::logbook;

/// Reads a page of the logbook.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadPage;

#[derive(Debug, Deserialize)]
pub(crate) struct PageNumber {
    page: usize,
}

#[derive(Debug)]
pub(crate) struct NoSuchPage(usize);

impl std::fmt::Display for NoSuchPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the logbook has no page {}", self.0)
    }
}

impl std::error::Error for NoSuchPage {}

impl Tool for ReadPage {
    const NAME: &'static str = "read_page";
    type Args = PageNumber;
    type Output = String;
    type Error = NoSuchPage;

    fn description(&self) -> String {
        "Reads a page of the logbook.".to_owned()
    }

    fn parameters(&self) -> serde_json::Value {
        serde_json::json!({
            "type": "object",
            "properties": { "page": { "type": "integer", "minimum": 1 } },
            "required": ["page"],
        })
    }

    async fn call(&self, _: &mut ToolContext, args: PageNumber) -> Result<String, NoSuchPage> {
        logbook::page(args.page).map(str::to_owned).ok_or(NoSuchPage(args.page))
    }
}

/// Multiplies two numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Multiply;

#[derive(Debug, Deserialize)]
pub(crate) struct Factors {
    a: u64,
    b: u64,
}

impl Tool for Multiply {
    const NAME: &'static str = "multiply";
    type Args = Factors;
    type Output = String;
    type Error = ToolExecutionError;

    fn description(&self) -> String {
        "Multiplies two numbers.".to_owned()
    }

    fn parameters(&self) -> serde_json::Value {
        serde_json::json!({
            "type": "object",
            "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
            "required": ["a", "b"],
        })
    }

    async fn call(&self, _: &mut ToolContext, args: Factors) -> Result<String, ToolExecutionError> {
        Ok(args.a.saturating_mul(args.b).to_string())
    }
}
