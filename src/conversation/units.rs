//! A conversation as units of messages that are kept or dropped whole.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::message::{Message, Role, Texts};
use super::pairing::{MessagePairs, note_blank, pin_needed, pins};
use super::rules::{Rules, Timestamps};
use crate::error::CupelError;
use crate::model::{
    ContextItem, ContextKind, ContextSource, Fold, Origin, PlacedItem, RefusedItem,
};
use crate::relevance::{Question, is_informative};
use crate::tokens::{HeuristicCounter, TokenCounter};

/// Messages in units that are kept or dropped whole.
///
/// Instructions, the last user message, the unit with the last message (see [`Rules::pin_latest`]) and
/// whatever [`Attributes`](super::Attributes) pin are always sent; if that is nothing, the last unit is.
/// A message that calls tools is one unit with the answers.
///
/// Calls without an answer, answers without a call, and what belongs to them are never sent: an API
/// refuses the whole request for one of them.
#[derive(Debug, Clone)]
#[must_use]
pub struct Conversation {
    pub(super) messages: Vec<Message>,
    /// One for each unit that can be sent, until they are taken.
    candidates: Vec<ContextItem>,
    /// Range of each candidate's messages in `members`.
    pub(super) units: Vec<Range<usize>>,
    /// Messages of all units, unit by unit.
    members: Vec<usize>,
    /// Candidates that are sent only with another one, and that one.
    pub(super) needs: BTreeMap<usize, usize>,
    refused: Vec<RefusedItem>,
    pub(super) user_first: bool,
    pub(super) documents: Vec<QuotableDocument>,
    pub(super) counter: Arc<dyn TokenCounter>,
    pub(super) part: PartTokens,
    pub(super) start_moved: bool,
    pub(super) empty_result: &'static str,
    pub(super) fixed_identity: u64,
}

/// A document of the request that competes beside its messages.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct QuotableDocument {
    /// The document as it stands in the request, with the tokens that it takes there.
    pub item: ContextItem,
    /// Its text, for when it is quoted instead.
    pub text: Arc<str>,
}

impl QuotableDocument {
    /// A document as it stands in the request, and the text that is quoted of it.
    #[must_use]
    pub fn new(item: ContextItem, text: impl Into<Arc<str>>) -> Self {
        Self { item, text: text.into() }
    }
}

/// Tokens that a text part adds to a message beside its text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PartTokens {
    /// None.
    #[default]
    Free,
    /// This many, taken from the share for recall.
    OfShare(i64),
    /// This many, beside the share for recall.
    Beside(i64),
}

impl PartTokens {
    pub(super) fn tokens(self) -> i64 {
        match self {
            Self::Free => 0,
            Self::OfShare(tokens) | Self::Beside(tokens) => tokens,
        }
    }

    /// Those that come on top of the share for recall.
    pub(super) fn beside_share(self) -> i64 {
        if let Self::Beside(tokens) = self { tokens } else { 0 }
    }
}

/// A selection in the order in which it is sent.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Arrangement {
    /// Indexes of the messages that are kept, in the order of the conversation.
    pub kept: Vec<usize>,
    /// Indexes of the messages that a [plan](super::plan) quotes, in the order of the conversation.
    pub recalled: Vec<usize>,
    /// Numbers of the request's documents, in the placer's order.
    pub documents: Vec<usize>,
    /// Items of sources, in the placer's order.
    pub retrieved: Vec<PlacedItem>,
}

impl Conversation {
    /// Makes units of messages.
    ///
    /// # Errors
    ///
    /// [`CupelError::InvalidItem`] when a message cannot be an item.
    pub fn new(messages: Vec<Message>, rules: &Rules) -> Result<Self, CupelError> {
        Self::with_texts(messages, rules, |_, message, content| content.push_str(&message.text))
    }

    /// Makes units of messages whose texts are written when they are needed.
    ///
    /// `write` appends the text that reports show of a message. For long histories that saves a copy
    /// of each.
    ///
    /// # Errors
    ///
    /// [`CupelError::InvalidItem`] when a message cannot be an item.
    pub fn with_texts(
        mut messages: Vec<Message>,
        rules: &Rules,
        mut write: impl FnMut(usize, &Message, &mut String),
    ) -> Result<Self, CupelError> {
        note_blank(&mut messages, &mut write);
        let units = MessagePairs::of(&messages, rules).into_units();
        let mut is_sound = vec![true; messages.len()];
        for message in units.refused.keys().flat_map(|unit| units.members_of(*unit)) {
            is_sound.get_mut(*message).into_iter().for_each(|sound| *sound = false);
        }
        let mut pinned = pins(&messages, &is_sound, rules);
        pin_needed(&mut pinned, &units);
        let timestamps = rules.timestamps(messages.len());
        let mut items = UnitItems {
            messages: &messages,
            pinned: &pinned,
            timestamps,
            write,
            content: String::new(),
            number: itoa::Buffer::new(),
        };
        let mut candidates = Vec::with_capacity(units.ends.len());
        let mut ranges = Vec::with_capacity(units.ends.len());
        let mut refused = Vec::new();
        let mut candidate_of = BTreeMap::new();
        let mut reasons = units.refused;
        let mut start = 0;
        for (unit, end) in units.ends.into_iter().enumerate() {
            let range = start..end;
            start = end;
            let item = items.item(units.members.get(range.clone()).unwrap_or_default())?;
            if let Some(why) = reasons.remove(&unit) {
                refused.push(RefusedItem { item, why });
                continue;
            }
            if !units.needs.is_empty() {
                candidate_of.insert(unit, ranges.len());
            }
            candidates.push(item);
            ranges.push(range);
        }
        let candidate = |unit: usize| candidate_of.get(&unit).copied();
        let needs = units.needs.into_iter();
        let needs = needs.filter_map(|(step, opener)| Some((candidate(step)?, candidate(opener)?)));
        Ok(Self {
            needs: needs.collect(),
            messages,
            candidates,
            units: ranges,
            members: units.members,
            refused,
            user_first: rules.user_first,
            documents: Vec::new(),
            counter: Arc::new(HeuristicCounter),
            part: PartTokens::Free,
            start_moved: false,
            empty_result: "",
            fixed_identity: 0,
        })
    }

    /// Counts excerpts and quotations with this counter; an estimate unless set.
    pub fn counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.counter = counter;
        self
    }

    /// Sets what a text part adds to a message beside its text; nothing unless set.
    pub fn part_tokens(mut self, tokens: PartTokens) -> Self {
        self.part = tokens;
        self
    }

    /// Adds documents of the request. A plan keeps them where they stand while everything fits, and
    /// quotes them otherwise, unless they are pinned.
    pub fn documents(mut self, documents: Vec<QuotableDocument>) -> Self {
        self.candidates.extend(documents.iter().map(|document| document.item.clone()));
        self.documents = documents;
        self
    }

    /// Says that the request before began with other messages, because the adapter looks at the newest
    /// ones only.
    pub fn start_moved(mut self, moved: bool) -> Self {
        self.start_moved = moved;
        self
    }

    /// Sets the text that is sent where nothing is left of a tool's result, for APIs that refuse an
    /// empty one.
    pub fn empty_result(mut self, text: &'static str) -> Self {
        self.empty_result = text;
        self
    }

    /// Sets a hash of what is sent before the messages: tools, formats, instructions of their own. Reports
    /// compare it, so that nothing is taken for cached behind tools that have changed.
    pub fn fixed_identity(mut self, hash: u64) -> Self {
        self.fixed_identity = hash;
        self
    }

    pub(crate) fn shared_counter(&self) -> Arc<dyn TokenCounter> {
        Arc::clone(&self.counter)
    }

    pub(crate) fn token_counter(&self) -> &dyn TokenCounter {
        &*self.counter
    }

    /// The messages, in their order.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// One candidate a unit, in the order of their first messages, and then one a document.
    #[must_use]
    pub fn candidates(&self) -> Vec<ContextItem> {
        self.candidates.clone()
    }

    /// Takes the [`candidates`](Self::candidates) out without a copy.
    pub fn take_candidates(&mut self) -> Vec<ContextItem> {
        std::mem::take(&mut self.candidates)
    }

    /// Indexes of the messages that a candidate stands for.
    #[must_use]
    pub fn messages_of(&self, candidate: usize) -> &[usize] {
        let members = self.units.get(candidate).and_then(|unit| self.members.get(unit.clone()));
        members.unwrap_or_default()
    }

    /// Takes out the units that must not be sent, with the reasons.
    pub fn take_refused(&mut self) -> Vec<RefusedItem> {
        std::mem::take(&mut self.refused)
    }

    /// Error when there is nothing that could be sent.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.refused.first().filter(|_| self.units.is_empty()) {
            None => Ok(()),
            Some(first) => {
                let count = self.messages.len();
                Err(format!("the API would refuse all {count} messages; the first: {}", first.why))
            }
        }
    }

    /// The user's last words, and what has been done about them since.
    #[must_use]
    pub fn question(&self, texts: &dyn Texts) -> Option<Question> {
        let last = self.messages.iter().rposition(Message::asks)?;
        let question = Question::new(self.asked_words(last, texts));
        // The newest, from the end back until there is enough.
        let mut parts = Vec::new();
        let mut bytes = 0;
        for (index, message) in self.messages.iter().enumerate().skip(last + 1).rev() {
            if bytes > MOST_WORK {
                break;
            }
            let part = texts.message(index, message);
            bytes += part.len();
            parts.push(part);
        }
        let mut work = String::with_capacity(bytes + parts.len());
        for part in parts.iter().rev() {
            if !work.is_empty() {
                work.push('\n');
            }
            work.push_str(part);
        }
        Some(if work.is_empty() { question } else { question.since(work) })
    }

    /// Words of the user's message at this index. "Go on" says nothing of its own: then it is the words
    /// of the last message before it that says something.
    pub(super) fn asked_words(&self, index: usize, texts: &dyn Texts) -> String {
        let known = self.messages.get(..=index).unwrap_or_default();
        let asks = known.iter().enumerate().rev().filter(|(_, message)| message.asks());
        let mut words = asks.map(|(index, _)| self.words(index, texts));
        let informative = words.find(|words| is_informative(words));
        informative.unwrap_or_else(|| self.words(index, texts))
    }

    /// The user's own words in a message.
    pub(super) fn words(&self, index: usize, texts: &dyn Texts) -> String {
        let Some(message) = self.messages.get(index) else { return String::new() };
        message.words.clone().unwrap_or_else(|| texts.message(index, message).into_owned())
    }

    /// Text of a candidate for a judge, appended to `out`.
    pub fn write_candidate(&self, candidate: usize, texts: &dyn Texts, out: &mut String) {
        if let Some(document) = candidate.checked_sub(self.units.len()) {
            out.push_str(self.documents.get(document).map_or("", |it| it.item.content()));
        }
        for (at, index) in self.messages_of(candidate).iter().enumerate() {
            if at > 0 {
                out.push('\n');
            }
            if let Some(message) = self.messages.get(*index).filter(|message| !message.private) {
                out.push_str(&texts.message(*index, message));
            }
        }
    }

    /// A candidate in words that show nothing of its content, for errors about room.
    pub(crate) fn describe(&self, candidate: usize, kind: &ContextKind) -> Option<String> {
        let members = self.messages_of(candidate);
        let number = members.first()?;
        let first = self.messages.get(*number)?;
        Some(if *kind == ContextKind::system_prompt() {
            format!("the system prompt in message {number}")
        } else if *kind == ContextKind::tool_output() {
            let mut messages = members.iter().filter_map(|index| self.messages.get(*index));
            match messages.find_map(|message| message.tools.iter().find(|name| is_name(name))) {
                Some(tool) => format!("the result of tool {tool:?} called in message {number}"),
                None => format!("the results of the tools called in message {number}"),
            }
        } else {
            format!("message {number} of the {}", first.role)
        })
    }

    /// Positions in `placed` of what cannot be sent, ascending, each with the reason: messages whose
    /// [needed](Message::needs) one was not selected, and steps of an exchange whose question was not
    /// (see [`Exchanges::StepsApart`](super::Exchanges::StepsApart)). A planned turn withdraws nothing: its plan keeps what is needed.
    #[must_use]
    pub fn withdrawn(&self, placed: &[PlacedItem]) -> Vec<(usize, String)> {
        withdrawn(&self.needs, placed)
    }

    /// Candidates that are sent only with an earlier one, and that one.
    pub(crate) fn needs(&self) -> &BTreeMap<usize, usize> {
        &self.needs
    }

    /// Messages of each unit.
    pub(super) fn all_members(&self) -> impl Iterator<Item = &[usize]> {
        self.units.iter().map(|unit| self.members.get(unit.clone()).unwrap_or_default())
    }

    /// Puts what was selected in the order in which it is sent.
    #[must_use]
    pub fn arrange(&self, placed: &[PlacedItem]) -> Arrangement {
        self.arrange_by(placed, |_| true)
    }

    /// As [`arrange`](Self::arrange). `is_sent` says of a unit whether it is sent as messages, or quoted.
    pub(super) fn arrange_by(
        &self,
        placed: &[PlacedItem],
        is_sent: impl Fn(usize) -> bool,
    ) -> Arrangement {
        let mut arranged = Arrangement::default();
        for placed in placed {
            match placed.origin {
                Origin::Request(index) => match index.checked_sub(self.units.len()) {
                    Some(document) => arranged.documents.push(document),
                    None if is_sent(index) => arranged.kept.extend(self.messages_of(index)),
                    None => arranged.recalled.extend(self.messages_of(index)),
                },
                Origin::Source { .. } => arranged.retrieved.push(placed.clone()),
            }
        }
        arranged.kept.sort_unstable();
        arranged.recalled.sort_unstable();
        arranged
    }
}

/// Bytes of the work since the question that are looked at; a judge reads less of it.
const MOST_WORK: usize = 64 << 10;

/// Positions in `placed` of candidates whose needed one is not there.
pub(super) fn withdrawn(
    needs: &BTreeMap<usize, usize>,
    placed: &[PlacedItem],
) -> Vec<(usize, String)> {
    if needs.is_empty() {
        return Vec::new();
    }
    let unit = |placed: &PlacedItem| match placed.origin {
        Origin::Request(unit) => Some(unit),
        Origin::Source { .. } => None,
    };
    let mut sent: BTreeSet<usize> = placed.iter().filter_map(unit).collect();
    // What is needed stands before what needs it, so one pass from the front is enough.
    for (step, needed) in needs {
        if !sent.contains(needed) {
            sent.remove(step);
        }
    }
    let is_withdrawn = |placed: &PlacedItem| unit(placed).is_some_and(|unit| !sent.contains(&unit));
    let withdrawn = placed.iter().enumerate().filter(|(_, placed)| is_withdrawn(placed));
    withdrawn.map(|(position, _)| (position, "what it needs was not selected".into())).collect()
}

/// Makes items of the units of a conversation.
struct UnitItems<'a, W> {
    messages: &'a [Message],
    pinned: &'a [bool],
    timestamps: Timestamps,
    write: W,
    /// The content under way; kept, since conversations have thousands of messages.
    content: String,
    number: itoa::Buffer,
}

impl<W: FnMut(usize, &Message, &mut String)> UnitItems<'_, W> {
    /// One item of the messages with these indexes: their [`Fold`], with the first one's kind,
    /// source and metadata.
    fn item(&mut self, members: &[usize]) -> Result<ContextItem, CupelError> {
        self.content.clear();
        let mut fold = Fold::default();
        for index in members {
            let Some(message) = self.messages.get(*index) else { continue };
            self.write_message(*index, message);
            let attributes = message.attributes.as_deref();
            let timestamp = attributes.and_then(|attributes| attributes.timestamp);
            let timestamp = timestamp.unwrap_or_else(|| self.timestamps.of(*index));
            let pinned = self.pinned.get(*index) == Some(&true);
            fold.add(message.tokens, pinned, Some(timestamp));
            if let Some(attributes) = attributes {
                fold.add_hints(attributes.priority, attributes.relevance, &attributes.tags);
            }
        }
        let mut all = members.iter().filter_map(|index| self.messages.get(*index));
        let (kind, source) = kind(all.clone());
        let item = fold.into_item(self.content.as_str()).kind(kind).source(source);
        match all.next().and_then(|first| first.attributes.as_ref()) {
            Some(first) => item.metadata(first.metadata.clone()).build(),
            None => item.build(),
        }
    }

    /// Adds a message to the content. With its number no message is another's duplicate: "yes"
    /// means something else each time.
    fn write_message(&mut self, index: usize, message: &Message) {
        if !self.content.is_empty() {
            self.content.push('\n');
        }
        self.content.push('[');
        self.content.push_str(self.number.format(index));
        self.content.push_str("] ");
        self.content.push_str(message.role.name());
        self.content.push_str(": ");
        (self.write)(index, message, &mut self.content);
    }
}

fn kind<'a>(mut members: impl Iterator<Item = &'a Message>) -> (ContextKind, ContextSource) {
    let tool = || (ContextKind::tool_output(), ContextSource::tool());
    let Some(first) = members.next() else { return tool() };
    let answers = |message: &Message| !message.answers.is_empty();
    match first.role {
        _ if answers(first) || members.any(answers) => tool(),
        Role::Tool => tool(),
        Role::System => (ContextKind::system_prompt(), ContextSource::chat()),
        Role::User | Role::Assistant => (ContextKind::message(), ContextSource::chat()),
    }
}
/// Returns true if a text can be the name of a tool. Anything else is text, which an error must not show.
fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=64).contains(&text.len()) && text.bytes().all(is_part)
}
