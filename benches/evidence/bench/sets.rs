//! Conversations and documents with questions whose evidence is known.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use cupel::relevance::Question;
use cupel::{ContextItem, ContextKind};
use serde_json::Value;

/// The conversations of one file.
pub struct Set {
    pub name: String,
    conversations: Vec<Conversation>,
}

struct Conversation {
    items: Vec<ContextItem>,
    questions: Vec<(Question, Vec<usize>)>,
}

/// One question.
pub struct Asked<'a> {
    pub items: &'a [ContextItem],
    pub question: &'a Question,
    /// The items that hold the answer, at least one.
    pub evidence: &'a [usize],
}

impl Set {
    pub fn asked(&self) -> impl Iterator<Item = Asked<'_>> {
        self.conversations.iter().flat_map(|conversation| {
            conversation.questions.iter().filter(|(_, evidence)| !evidence.is_empty()).map(
                |(question, evidence)| Asked { items: &conversation.items, question, evidence },
            )
        })
    }
}

impl Set {
    /// The same documents and questions, with all other questions as messages beside the documents.
    fn with_talk(&self) -> Option<Self> {
        let mut conversations = Vec::new();
        for Conversation { items, questions } in &self.conversations {
            if items.iter().any(|item| *item.kind() != ContextKind::document()) {
                return None;
            }
            for asked in questions {
                let others = questions.iter().filter(|other| other.0 != asked.0);
                let talk = others.map(|(other, _)| item(other.text(), ContextKind::message()));
                let items = items.iter().cloned().chain(talk).collect();
                conversations.push(Conversation { items, questions: vec![asked.clone()] });
            }
        }
        Some(Self { name: format!("{}+talk", self.name), conversations })
    }
}

/// The sets that ship with the project, and those of `CUPEL_EVIDENCE_DIR`.
pub fn sets() -> Vec<Set> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let other = std::env::var_os("CUPEL_EVIDENCE_DIR").map(PathBuf::from);
    [Some(own), other].into_iter().flatten().flat_map(|folder| in_folder(&folder)).collect()
}

fn in_folder(folder: &Path) -> Vec<Set> {
    let entries = std::fs::read_dir(folder);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    files
        .iter()
        .map(|file| set(file))
        .flat_map(|set| [set.with_talk(), Some(set)])
        .flatten()
        .collect()
}

fn set(file: &Path) -> Set {
    let text = std::fs::read_to_string(file).unwrap();
    let read = |line| {
        let value = serde_json::from_str(line);
        conversation(&value.unwrap_or_else(|error| panic!("{}: {error}", file.display())))
    };
    let name = file.file_stem().unwrap().to_string_lossy().into_owned();
    Set { name, conversations: text.lines().map(read).collect() }
}

fn conversation(value: &Value) -> Conversation {
    let list = |field: &str| value[field].as_array().unwrap();
    let mut places = HashMap::new();
    let read = |(place, value): (usize, &Value)| {
        places.insert(value["id"].to_string(), place);
        let kind = ContextKind::new(value["kind"].as_str().unwrap()).unwrap();
        item(value["text"].as_str().unwrap(), kind)
    };
    let items = list("items").iter().enumerate().map(read).collect();
    let question = |question: &Value| {
        let evidence = question["evidence"].as_array().unwrap();
        let evidence = evidence.iter().map(|id| places[&id.to_string()]).collect();
        (Question::new(question["question"].as_str().unwrap()), evidence)
    };
    Conversation { items, questions: list("questions").iter().map(question).collect() }
}

pub(crate) fn item(text: &str, kind: ContextKind) -> ContextItem {
    let tokens = (text.chars().count() / 4 + 4) as i64;
    ContextItem::builder(text, tokens).kind(kind).build().unwrap()
}
