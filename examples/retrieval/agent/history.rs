//! What has been said so far, and the request for the model that comes of it.

use chrono::{DateTime, TimeDelta, Utc};
use cupel::layer::ContextRequest;
use cupel::{ContextItem, ContextItemBuilder, ContextKind, ContextSource, CupelError};

use super::tools::{Call, SCHEMAS};
use super::words::{share_of, words};
use crate::docs_index::estimate_tokens;

/// Part of every request, whatever is selected.
const INSTRUCTIONS: &str = "Answer from the context alone. Say which item each fact comes from. \
     Call a tool for what the context lacks. If nobody knows, say so.";

/// The payload of a request: what the sources need to know. The model does not read it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn {
    pub(crate) number: usize,
    pub(crate) question: String,
    pub(crate) asked_at: DateTime<Utc>,
}

/// What an item is to the conversation; a retrieved passage has no role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    System,
    /// The question of the current turn.
    Question,
    /// A question of an earlier turn.
    Asked,
    Answer,
    Call,
    Output,
    Note,
}

const ROLES: [(Role, &str); 7] = [
    (Role::System, "system"),
    (Role::Question, "question"),
    (Role::Asked, "asked"),
    (Role::Answer, "answer"),
    (Role::Call, "call"),
    (Role::Output, "output"),
    (Role::Note, "note"),
];

/// The role of an item.
pub(crate) fn role(item: &ContextItem) -> Option<Role> {
    let name = item.metadata().get("role")?;
    ROLES.iter().find(|(_, known)| known == name).map(|(role, _)| *role)
}

/// The turn of an item; 0 for what belongs to none.
pub(crate) fn turn(item: &ContextItem) -> usize {
    item.metadata().get("turn").and_then(|turn| turn.parse().ok()).unwrap_or(0)
}

/// What ties a tool's output to its call.
pub(crate) fn call_id(item: &ContextItem) -> Option<&str> {
    item.metadata().get("call").map(String::as_str)
}

/// The conversation as the loop keeps it: nothing is ever thrown away here.
pub(crate) struct History {
    /// Past turns: items that only make sense together, each list a unit.
    past: Vec<Vec<ContextItem>>,
    /// The tool calls of the current turn with their outputs.
    current: Vec<Vec<ContextItem>>,
    turn: Turn,
    now: DateTime<Utc>,
}

impl History {
    /// An empty conversation.
    pub(crate) fn new() -> Self {
        // A clock that only ticks with the conversation, so that every run selects the same.
        let now = DateTime::UNIX_EPOCH;
        Self { past: Vec::new(), current: Vec::new(), turn: Turn::default(), now }
    }

    /// The user asks.
    pub(crate) fn ask(&mut self, question: &str) {
        let (number, asked_at) = (self.turn.number + 1, self.tick());
        self.turn = Turn { number, question: question.to_owned(), asked_at };
    }

    /// A tool was called and answered: neither goes without the other.
    pub(crate) fn called(&mut self, call: &Call, output: &str) -> Result<(), CupelError> {
        let id = format!("{}.{}", self.turn.number, self.current.len() + 1);
        let mut pair = Vec::new();
        for (role, text) in [(Role::Call, call.to_string()), (Role::Output, output.to_owned())] {
            let item = self.item(role, &text).timestamp(self.tick());
            let item = item.kind(ContextKind::tool_output()).source(ContextSource::tool());
            pair.push(item.metadata_entry("call", id.as_str()).build()?);
        }
        self.current.push(pair);
        Ok(())
    }

    /// The model answers, which ends the turn: question and answer become one unit.
    pub(crate) fn answered(&mut self, answer: &str) -> Result<(), CupelError> {
        let asked = self.item(Role::Asked, &self.turn.question);
        let asked = asked.timestamp(self.turn.asked_at).build()?;
        let answer = self.item(Role::Answer, answer).timestamp(self.tick()).build()?;
        self.past.append(&mut self.current);
        self.past.push(vec![asked, answer]);
        Ok(())
    }

    /// A result worth remembering when the talk about it is gone.
    pub(crate) fn note(&mut self, call: &Call, output: &str) -> Result<ContextItem, CupelError> {
        let text = format!("result of turn {}: {} = {output}", self.turn.number, call.argument);
        let note = self.item(Role::Note, &text).timestamp(self.tick());
        note.kind(ContextKind::memory()).build()
    }

    /// All candidates of the conversation: the layer selects among them anew for every call.
    pub(crate) fn request(&self) -> Result<ContextRequest<Turn>, CupelError> {
        let system = self.item(Role::System, INSTRUCTIONS).pinned(true);
        let system = system.kind(ContextKind::system_prompt()).timestamp(DateTime::UNIX_EPOCH);
        let question = self.item(Role::Question, &self.turn.question).pinned(true);
        let question = question.timestamp(self.turn.asked_at).build()?;
        let mut request = ContextRequest::new(self.turn.clone())
            .fixed_tokens(estimate_tokens(SCHEMAS))
            .item(system.build()?)
            .item(question);
        let asked = words(&self.turn.question);
        for unit in &self.past {
            // The past is as relevant as it has words in common with the question.
            let shares = unit.iter().map(|item| share_of(item.content(), &asked));
            request = request.unit(hinted(unit, shares.fold(0.0, f64::max))?)?;
        }
        for pair in &self.current {
            // What was fetched for this very question could not be more relevant.
            request = request.unit(hinted(pair, 1.0)?)?;
        }
        Ok(request)
    }

    fn item(&self, role: Role, text: &str) -> ContextItemBuilder {
        let name = ROLES.iter().find(|(known, _)| *known == role).map_or("", |(_, name)| name);
        ContextItem::builder(text, estimate_tokens(text))
            .metadata_entry("role", name)
            .metadata_entry("turn", self.turn.number.to_string())
    }

    fn tick(&mut self) -> DateTime<Utc> {
        self.now += TimeDelta::seconds(1);
        self.now
    }
}

/// The items with a relevance; the texts are shared, not copied.
fn hinted(items: &[ContextItem], hint: f64) -> Result<Vec<ContextItem>, CupelError> {
    items.iter().map(|item| item.to_builder().future_relevance_hint(hint).build()).collect()
}
