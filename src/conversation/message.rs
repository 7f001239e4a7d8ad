//! One message as the selection sees it, the caller's hints about it, and its text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use foldhash::fast::FixedState;

use crate::model::{ContextItem, ContextItemBuilder, Fold};

/// One message: who speaks, what it costs, and which other messages it needs.
///
/// Its fields are public, so that an adapter sets what it knows:
///
/// ```
/// use cupel::conversation::{Conversation, Message, Role, Rules};
///
/// let mut call = Message::new(Role::Assistant, "look_up(7)", 12);
/// call.calls.push("call_1".to_owned());
/// let mut result = Message::new(Role::Tool, "in Lyon", 8);
/// result.answers.push("call_1".to_owned());
/// let question = Message::new(Role::User, "Where is order 7?", 9);
///
/// let conversation = Conversation::new(vec![question, call, result], &Rules::new())?;
/// assert_eq!(conversation.messages_of(1), [1, 2]); // call and result are one unit
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Message {
    /// Speaker of the message.
    pub role: Role,
    /// Text that reports show.
    pub text: String,
    /// The tokens of all of it.
    pub tokens: i64,
    /// The tool calls it makes, by id.
    pub calls: Vec<String>,
    /// The tool calls it answers, by id.
    pub answers: Vec<String>,
    /// Keeps it together with the message before it.
    pub with_previous: bool,
    /// Keeps it together with the message after it.
    pub with_next: bool,
    /// The earlier message, by index, without which it is not sent. That one may be sent without it.
    pub needs: Option<usize>,
    /// Sends it whatever rules and attributes say.
    pub required: bool,
    /// The tokens of each tool's result in it whose text a [plan](super::plan) may replace by an
    /// excerpt.
    pub results: Vec<i64>,
    /// The user's own words in it, where results of tools stand beside them.
    pub words: Option<String>,
    /// Names of the tools it calls, in order.
    pub tools: Vec<String>,
    /// Keeps its text from being quoted or judged, as the model's thoughts must be.
    pub private: bool,
    /// Why the API would not take it.
    pub refused: Option<String>,
    /// Hints of the caller about it. Few messages have any, so they are boxed.
    pub attributes: Option<Box<Attributes>>,
    /// Hash of what is sent of it and not in its text; see [`note_unseen`](Self::note_unseen).
    pub(super) unseen: u64,
    /// A user's message without words and media. The [`Conversation`](super::Conversation) notes it.
    pub(super) blank: bool,
}

/// Speaker of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// Instructions, of the system or of the developer.
    System,
    /// A user's own words or media, also when results of tools stand beside them.
    User,
    /// The model.
    Assistant,
    /// Results of tools and nothing else.
    Tool,
}

impl Message {
    /// A message with the text that reports show and the tokens of all of it.
    ///
    /// Media have no place in the text: name them, as in `[image]`.
    pub fn new(role: Role, text: impl Into<String>, tokens: i64) -> Self {
        Self {
            role,
            text: text.into(),
            tokens,
            calls: Vec::new(),
            answers: Vec::new(),
            with_previous: false,
            with_next: false,
            needs: None,
            required: false,
            results: Vec::new(),
            words: None,
            tools: Vec::new(),
            private: false,
            refused: None,
            attributes: None,
            unseen: 0,
            blank: false,
        }
    }

    /// Adds a tool call that this message makes. Without its answer the message is refused.
    #[inline]
    pub fn calls(mut self, id: impl Into<String>) -> Self {
        self.calls.push(id.into());
        self
    }

    /// Adds a tool call that this message answers. Without the call the message is refused.
    #[inline]
    pub fn answers(mut self, id: impl Into<String>) -> Self {
        self.answers.push(id.into());
        self
    }

    /// Keeps this message together with the one before it.
    pub fn with_previous(mut self) -> Self {
        self.with_previous = true;
        self
    }

    /// Keeps this message together with the one after it, as a model's reasoning must be.
    pub fn with_next(mut self) -> Self {
        self.with_next = true;
        self
    }

    /// Sends this message only with an earlier one, given by its index. That one may be sent without
    /// it, and is pinned when this one is.
    pub fn needs(mut self, index: usize) -> Self {
        self.needs = Some(index);
        self
    }

    /// Sends this message whatever rules and attributes say.
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Adds a tool's result that this message holds, by the tokens of its text: a
    /// [plan](super::plan) may replace that text by an excerpt.
    pub fn result(mut self, tokens: i64) -> Self {
        self.results.push(tokens);
        self
    }

    /// Sets the user's own words in a message that also holds results of tools: they are what is asked.
    pub fn words(mut self, words: impl Into<String>) -> Self {
        self.words = Some(words.into());
        self
    }

    /// Adds the name of a tool it calls.
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        self.tools.push(name.into());
        self
    }

    /// Refuses this message for a reason that only the adapter can see.
    pub fn refused(mut self, why: impl Into<String>) -> Self {
        self.refused = Some(why.into());
        self
    }

    /// Sets what the caller knows about the message.
    #[inline]
    pub fn attributes(mut self, attributes: Attributes) -> Self {
        self.attributes = Some(Box::new(attributes));
        self
    }

    /// Notes something that is sent of it and not in its text, such as the data of an image. Reports
    /// compare it: two messages are the same one if this, their texts and their tokens are the same.
    pub fn note_unseen(&mut self, data: &str) {
        let mut hasher = FixedState::default().build_hasher();
        hasher.write_u64(self.unseen);
        hasher.write(data.as_bytes());
        self.unseen = hasher.finish();
    }

    /// Hash of everything that is sent of it, with its text.
    pub(super) fn identity(&self, text: &str) -> u64 {
        let mut hasher = FixedState::default().build_hasher();
        hasher.write_u64(self.unseen);
        hasher.write_i64(self.tokens);
        let ids = self.calls.iter().chain(&self.answers).map(String::as_str);
        for part in [self.role.name(), text].into_iter().chain(ids) {
            hasher.write(part.as_bytes());
        }
        hasher.finish()
    }

    /// Returns true if a user begins something new here. A message without words and media begins
    /// nothing.
    #[must_use]
    pub fn opens_exchange(&self) -> bool {
        self.asks() && self.answers.is_empty()
    }

    /// Returns true if a user says something here, also beside results of tools: words, an image, a
    /// file or audio. Before a [`Conversation`](super::Conversation) has read the texts, every message
    /// of a user counts.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.role == Role::User && !self.blank
    }

    /// The caller's word on whether it is always sent.
    pub(super) fn told_pinned(&self) -> Option<bool> {
        self.attributes.as_ref().and_then(|attributes| attributes.pinned)
    }

    /// The caller's word on whether it is a standing order.
    pub(super) fn told_standing(&self) -> Option<bool> {
        self.attributes.as_ref().and_then(|attributes| attributes.standing)
    }

    /// Returns true if it is sent wherever the conversation is cut.
    pub(super) fn stays(&self) -> bool {
        self.required || self.told_pinned().unwrap_or(self.role == Role::System)
    }

    /// Returns true if results of tools are in it, alone or beside somebody's words.
    pub(super) fn is_derived(&self) -> bool {
        self.role == Role::Tool || !self.answers.is_empty() || !self.results.is_empty()
    }

    /// Its tokens when no result in it has more than `limit`.
    pub(super) fn within(&self, limit: i64) -> i64 {
        let cut = self.results.iter().map(|tokens| tokens.saturating_sub(limit).max(0));
        self.tokens.saturating_sub(cut.fold(0, i64::saturating_add)).max(0)
    }
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Hints of the caller about a message: its priority, tags, date and more. All are optional.
///
/// ```
/// use cupel::conversation::Attributes;
///
/// let important = Attributes::new().priority(10).tag("decision").relevance(0.9);
/// assert_eq!(important.pinned, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Attributes {
    /// True if the message is always sent, false if it competes with the others. Overrides the conversation's own rules both ways.
    pub pinned: Option<bool>,
    /// True if a user's message is a standing order, all of it; false if it holds none. Without a mark
    /// the plan looks for [standing sentences](crate::standing).
    pub standing: Option<bool>,
    /// The priority; higher is more important.
    pub priority: Option<i64>,
    /// The tags.
    pub tags: Vec<String>,
    /// The relevance, conventionally in `[0.0, 1.0]`.
    pub relevance: Option<f64>,
    /// Time at which the message was really written.
    pub timestamp: Option<DateTime<Utc>>,
    /// Key-value data for scorers that read it.
    pub metadata: BTreeMap<String, String>,
}

impl Attributes {
    /// No attributes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether the message is always sent.
    pub fn pinned(mut self, pinned: bool) -> Self {
        self.pinned = Some(pinned);
        self
    }

    /// Marks a user's message as a standing order, or as none.
    pub fn standing(mut self, standing: bool) -> Self {
        self.standing = Some(standing);
        self
    }

    /// Sets the priority; higher is more important.
    pub fn priority(mut self, priority: i64) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Adds a tag.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// Sets the relevance, conventionally in `[0.0, 1.0]`.
    pub fn relevance(mut self, relevance: f64) -> Self {
        self.relevance = Some(relevance);
        self
    }

    /// Sets when the message was really written.
    pub fn timestamp(mut self, timestamp: DateTime<Utc>) -> Self {
        self.timestamp = Some(timestamp);
        self
    }

    /// Adds a metadata entry; a later value replaces an earlier one for the same key.
    pub fn metadata_entry(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Starts an item with these attributes, for what is no message: a document, say.
    pub fn item(self, content: impl Into<Arc<str>>, tokens: i64) -> ContextItemBuilder {
        let mut fold = Fold::default();
        fold.add(tokens, self.pinned == Some(true), self.timestamp);
        fold.add_hints(self.priority, self.relevance, &self.tags);
        fold.into_item(content).metadata(self.metadata)
    }
}

/// Texts of one request, for the plan of its turn. Every method has a default that uses
/// [`Message::text`], so an adapter overrides only what it keeps elsewhere.
pub trait Texts {
    /// Whole text of a message as it may be quoted: media by name, and nothing that only its provider
    /// can read.
    fn message<'a>(&'a self, index: usize, message: &'a Message) -> Cow<'a, str> {
        let _ = index;
        Cow::Borrowed(&message.text)
    }

    /// Text of a tool's result, by its number in its message. None if it is not text.
    fn result<'a>(
        &'a self,
        index: usize,
        message: &'a Message,
        number: usize,
    ) -> Option<Cow<'a, str>> {
        let _ = index;
        (number == 0 && !message.results.is_empty()).then_some(Cow::Borrowed(&*message.text))
    }

    /// Text of an item that a source gave, as it is quoted. Defaults to the item's content.
    fn source<'a>(&'a self, item: &'a ContextItem) -> Cow<'a, str> {
        Cow::Borrowed(item.content())
    }
}

/// The texts that the messages themselves hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct MessageTexts;

impl Texts for MessageTexts {}
