//! The agent's two tools: a calculator, and a search through the documentation's files.

use std::fmt;

use super::calculator;
use super::words::{has_all, words};
use crate::docs_index::Passage;

/// What a provider would be told about the tools with every request. Not up for selection.
pub(crate) const SCHEMAS: &str = r#"[
 {"name": "calculator", "description": "Evaluates + - * / % ^ and brackets.",
  "parameters": {"expression": "string"}},
 {"name": "search_files", "description": "Finds passages of the documentation with all words.",
  "parameters": {"words": "string"}}]"#;

/// How many passages a search shows.
const SHOWN: usize = 2;

/// The tools by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    Calculator,
    SearchFiles,
}

impl Tool {
    const ALL: [Self; 2] = [Self::Calculator, Self::SearchFiles];

    fn name(self) -> &'static str {
        match self {
            Self::Calculator => "calculator",
            Self::SearchFiles => "search_files",
        }
    }
}

/// A call as the model writes it: `calculator("6 * 7")`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) tool: Tool,
    pub(crate) argument: String,
}

impl Call {
    /// Reads what [`Display`](fmt::Display) wrote.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (name, rest) = text.split_once("(\"")?;
        let tool = Tool::ALL.into_iter().find(|tool| tool.name() == name)?;
        Some(Self { tool, argument: rest.strip_suffix("\")")?.to_owned() })
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(\"{}\")", self.tool.name(), self.argument)
    }
}

/// What the tools work on.
pub(crate) struct Toolbox {
    pub(crate) passages: Vec<Passage>,
}

impl Toolbox {
    /// Runs a call. What goes wrong is an output like any other: the model must see it.
    pub(crate) fn run(&self, call: &Call) -> String {
        match call.tool {
            Tool::Calculator => match calculator::evaluate(&call.argument) {
                Ok(value) => calculator::show(value),
                Err(problem) => format!("error: {problem}"),
            },
            Tool::SearchFiles => self.search(&call.argument),
        }
    }

    /// The passages that have every word in path or text, the shortest first: they say it most
    /// directly.
    fn search(&self, query: &str) -> String {
        let wanted = words(query);
        let cited = self.passages.iter().map(Passage::cited);
        let mut found: Vec<String> = cited.filter(|text| has_all(text, &wanted)).collect();
        found.sort_by_key(String::len);
        if found.is_empty() {
            return format!("no passage has all of: {}", wanted.join(", "));
        }
        found.truncate(SHOWN);
        found.join("\n")
    }
}
