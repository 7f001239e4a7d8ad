//! Findings in files while they are read: problems, and notes on keys of other programs.

use std::sync::Arc;

use crate::config::{Found, Path, Report, Value, meant, plain};
use crate::contract::problem::{ContractProblem, Place};
use crate::error::Quoted;

/// Limits whose names mean nothing else, and where they belong: elsewhere they are a mistake.
const LIMITS: [(&str, &str); 7] = [
    ("model_context_window", "config.json"),
    ("model_max_tokens", "config.json"),
    ("allow_auto_clamp", "config.json"),
    ("max_context_tokens", "settings"),
    ("max_history_tokens", "settings"),
    ("budget_safety_margin_tokens", "settings"),
    ("max_output_tokens", "a call_model step"),
];

#[derive(Debug, Default)]
pub(super) struct Noted {
    /// Among them keys that were meant to be read: the contract would not be what its author wrote.
    pub(super) problems: Vec<ContractProblem>,
    /// On any other key: files hold settings for other programs as well.
    pub(super) notes: Vec<String>,
}

impl Noted {
    pub(super) fn invalid(
        &mut self,
        file: &str,
        path: &Path<'_>,
        value: impl Into<String>,
        expected: impl Into<String>,
    ) {
        self.problems.push(ContractProblem::invalid(Place::at(file, path), value, expected));
    }

    pub(super) fn missing(&mut self, file: &str, path: &Path<'_>, expected: &str) {
        let (place, expected) = (Place::at(file, path), expected.to_owned());
        self.problems.push(ContractProblem::Missing { place, expected });
    }
}

impl Report for Noted {
    fn skips_nothing(&self) -> bool {
        true
    }

    fn report(&mut self, path: &Path<'_>, found: Found<'_>) {
        match found {
            Found::Missing { expected, file } => self.missing(file, path, expected),
            Found::Wrong { tree, expected } => {
                self.invalid(&tree.file, path, tree.to_string(), expected);
            }
            Found::NoSuchPart { name, known, file } => {
                self.invalid(file, path, Quoted(name).to_string(), known.join(", "));
            }
            Found::Twice { tree, .. } => {
                self.invalid(&tree.file, path, "the key twice", "it once");
            }
            Found::Unknown { key, tree, known } => {
                let place = Place::at(&tree.file, path);
                let home = LIMITS.iter().find(|(limit, _)| *limit == key);
                let suggestion = match home {
                    Some((limit, home)) => Some(format!("{limit} in {home}")),
                    None => meant(key, known).map(str::to_owned),
                };
                match suggestion {
                    Some(suggestion) => {
                        self.problems.push(ContractProblem::MisspeltKey { place, suggestion });
                    }
                    None => self.notes.push(format!("{place} is not part of the contract")),
                }
            }
        }
    }
}

/// A number with the file it stands in: not always the pipeline's own.
#[derive(Debug, Default)]
pub(super) struct Tokens(pub(super) i64, pub(super) Arc<str>);

/// A text with its file.
#[derive(Debug, Default)]
pub(super) struct Name(pub(super) String, pub(super) Arc<str>);

plain! {
    Tokens, "a whole number of tokens", |tree| match tree.value {
        Value::Whole(number) => Some(Tokens(number.try_into().ok()?, Arc::clone(&tree.file))),
        _ => None,
    };
    Name, "a text", |tree| Some(Name(tree.text()?.to_owned(), Arc::clone(&tree.file)));
}
