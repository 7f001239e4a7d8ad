//! The agent's two tools: a calculator, and a search through the documentation's files.

use std::fmt;

use serde_json::{Value, json};

use super::calculator;
use super::words::{has_all, words};
use crate::docs_index::Passage;

/// Definitions of the tools, sent with every request.
pub(crate) fn definitions() -> Value {
    let tool = |tool: Tool, description: &str| {
        let parameters =
            json!({"type": "object", "properties": {tool.takes(): {"type": "string"}}});
        json!({"type": "function", "function": {
            "name": tool.name(), "description": description, "parameters": parameters}})
    };
    json!([
        tool(Tool::Calculator, "Evaluates + - * / % ^ and brackets."),
        tool(Tool::SearchFiles, "Finds passages of the documentation with all words."),
    ])
}

/// Number of passages that a search shows.
const SHOWN: usize = 4;
/// Shortest sentence, in characters.
const SENTENCE: usize = 160;

/// The tools by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    Calculator,
    SearchFiles,
}

impl Tool {
    const ALL: [Self; 2] = [Self::Calculator, Self::SearchFiles];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Calculator => "calculator",
            Self::SearchFiles => "search_files",
        }
    }

    /// The name of its only argument.
    fn takes(self) -> &'static str {
        match self {
            Self::Calculator => "expression",
            Self::SearchFiles => "words",
        }
    }
}

/// A call of a tool with its argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) tool: Tool,
    pub(crate) argument: String,
}

impl Call {
    /// Reads a call as it stands in a request.
    pub(crate) fn read(name: &str, arguments: &str) -> Option<Self> {
        let tool = Tool::ALL.into_iter().find(|tool| tool.name() == name)?;
        let arguments: Value = serde_json::from_str(arguments).ok()?;
        Some(Self { tool, argument: arguments.get(tool.takes())?.as_str()?.to_owned() })
    }

    /// Reads a call as it is quoted: `calculator({"expression":"6 * 7"})`.
    pub(crate) fn quoted(text: &str) -> Option<Self> {
        let (name, rest) = text.split_once('(')?;
        Self::read(name, rest.strip_suffix(')')?)
    }

    /// Arguments in the form that [`read`](Self::read) reads.
    pub(crate) fn arguments(&self) -> String {
        json!({self.tool.takes(): self.argument}).to_string()
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(\"{}\")", self.tool.name(), self.argument)
    }
}

/// Data for the tools.
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

    /// The passages that have every word in path or text, the shortest whole sentences first: they
    /// say it most directly.
    fn search(&self, query: &str) -> String {
        let wanted = words(query);
        let cited = self.passages.iter().map(Passage::cited);
        let mut found: Vec<String> = cited.filter(|text| has_all(text, &wanted)).collect();
        found.sort_by_key(|text| (text.len() < SENTENCE, text.len()));
        if found.is_empty() {
            return format!("no passage has all of: {}", wanted.join(", "));
        }
        found.truncate(SHOWN);
        found.join("\n")
    }
}
