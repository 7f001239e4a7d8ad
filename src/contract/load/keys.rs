//! Which keys are read where, and what to say of the others.

use super::node::Node;
use super::spelling::is_slip;
use crate::contract::problem::{ContractProblem, Place};

/// A place that keys are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Config,
    Pipeline,
    Settings,
    /// A `call_model` step; the keys of other actions are none of the contract's business.
    Step,
    UserPart,
}

impl Section {
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Config => {
                &["model_context_window", "model_max_tokens", "allow_auto_clamp", "model"]
            }
            Self::Pipeline => &["name", "description", "extends", "settings", "steps"],
            Self::Settings => {
                &["max_context_tokens", "max_history_tokens", "budget_safety_margin_tokens"]
            }
            Self::Step => &[
                "id",
                "name",
                "action",
                "prompt_key",
                "user_parts",
                "use_history",
                "max_output_tokens",
                "max_tokens",
            ],
            Self::UserPart => &["source", "template"],
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Self::Config => "config.json",
            Self::Pipeline => "the pipeline itself",
            Self::Settings => "settings",
            Self::Step => "a call_model step",
            Self::UserPart => "a user part",
        }
    }
}

/// Limits whose names mean nothing else: in the wrong place they are a mistake.
const LIMITS: [(&str, Section); 7] = [
    ("model_context_window", Section::Config),
    ("model_max_tokens", Section::Config),
    ("allow_auto_clamp", Section::Config),
    ("max_context_tokens", Section::Settings),
    ("max_history_tokens", Section::Settings),
    ("budget_safety_margin_tokens", Section::Settings),
    ("max_output_tokens", Section::Step),
];

/// What is said of the keys of one map that are not read.
#[derive(Debug, Default)]
pub(super) struct Unread {
    /// A key that was meant to be read: the contract would not be the one its author wrote.
    pub(super) problems: Vec<ContractProblem>,
    /// Any other key: files hold settings for other programs as well.
    pub(super) notes: Vec<String>,
}

impl Unread {
    /// Looks at the keys of `map`, whose own keys are `prefix`.
    pub(super) fn look(&mut self, section: Section, map: &Node, prefix: &str) {
        for (key, node) in map.entries() {
            if section.keys().contains(&&**key) {
                continue;
            }
            let place = Place { file: Some(node.file.to_string()), key: format!("{prefix}{key}") };
            match suggestion(section, key) {
                Some(suggestion) => {
                    self.problems.push(ContractProblem::MisspeltKey { place, suggestion });
                }
                None => self.notes.push(format!("{place} is not part of the contract")),
            }
        }
    }
}

fn suggestion(section: Section, key: &str) -> Option<String> {
    if let Some((_, home)) = LIMITS.iter().find(|(limit, _)| *limit == key) {
        return Some(format!("{key} in {}", home.describe()));
    }
    let meant = section.keys().iter().find(|known| is_slip(key, known))?;
    Some((*meant).to_owned())
}
