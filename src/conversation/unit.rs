//! Messages that are kept or dropped together, as one item.

use super::attributes::Attributes;
use super::message::{Message, Role};
use super::rules::Timestamps;
use crate::error::CupelError;
use crate::model::{ContextItem, ContextItemBuilder, ContextKind, ContextSource};

/// Makes items of the messages of a conversation.
pub(super) struct Items<'a, W> {
    messages: &'a [Message],
    pinned: &'a [bool],
    timestamps: Timestamps,
    write: W,
    /// Whether any message has attributes; most conversations are without.
    any_attributes: bool,
    /// The content under way; kept, since conversations have thousands of messages.
    content: String,
}

impl<'a, W: FnMut(usize, &mut String)> Items<'a, W> {
    pub(super) fn new(
        messages: &'a [Message],
        pinned: &'a [bool],
        timestamps: Timestamps,
        write: W,
    ) -> Self {
        let any_attributes = messages.iter().any(|message| message.attributes.is_some());
        Self { messages, pinned, timestamps, write, any_attributes, content: String::new() }
    }

    /// One item of the messages with these indexes.
    ///
    /// Its tokens are their sum; it is pinned when one of them is, as new as the newest, as
    /// important and as relevant as the most important and relevant, and has all their tags and
    /// the first one's kind, source and metadata.
    pub(super) fn item(&mut self, members: &[usize]) -> Result<ContextItem, CupelError> {
        self.content.clear();
        let mut tokens = 0_i64;
        for index in members {
            let Some(message) = self.messages.get(*index) else { continue };
            if !self.content.is_empty() {
                self.content.push('\n');
            }
            // With its number no message is another's duplicate: "yes" means something else each
            // time.
            self.content.push('[');
            push_number(&mut self.content, *index);
            self.content.push_str("] ");
            self.content.push_str(message.role.name());
            self.content.push_str(": ");
            (self.write)(*index, &mut self.content);
            // A count that is not valid must not make the others look cheaper.
            tokens = match (tokens < 0, message.tokens < 0) {
                (true, _) => tokens,
                (false, true) => message.tokens,
                (false, false) => tokens.saturating_add(message.tokens),
            };
        }
        let all = || members.iter().filter_map(|index| self.messages.get(*index));
        let (kind, source) = kind(all());
        let is_pinned = |index: &usize| self.pinned.get(*index) == Some(&true);
        let item = ContextItem::builder(self.content.as_str(), tokens)
            .kind(kind)
            .source(source)
            .pinned(members.iter().any(is_pinned));
        if self.any_attributes {
            return self.attributed(item, members).build();
        }
        match members.last() {
            Some(last) => item.timestamp(self.timestamps.of(*last)).build(),
            None => item.build(),
        }
    }

    /// Adds what the caller knows about the messages, and when they were written.
    fn attributed(&self, mut item: ContextItemBuilder, members: &[usize]) -> ContextItemBuilder {
        let own = |index: &usize| self.attributes(*index)?.timestamp;
        let dated = members.iter().filter_map(own).max();
        let undated = members.iter().rfind(|index| own(index).is_none());
        let undated = undated.map(|index| self.timestamps.of(*index));
        if let Some(timestamp) = dated.max(undated) {
            item = item.timestamp(timestamp);
        }
        let attributes = || members.iter().filter_map(|index| self.attributes(*index));
        for tag in attributes().flat_map(|attributes| &attributes.tags) {
            item = item.tag(tag);
        }
        if let Some(first) = members.first().and_then(|index| self.attributes(*index)) {
            item = item.metadata(first.metadata.clone());
        }
        if let Some(priority) = attributes().filter_map(|attributes| attributes.priority).max() {
            item = item.priority(priority);
        }
        let relevance = attributes().filter_map(|attributes| attributes.relevance);
        match relevance.max_by(f64::total_cmp) {
            Some(relevance) => item.future_relevance_hint(relevance),
            None => item,
        }
    }

    fn attributes(&self, index: usize) -> Option<&Attributes> {
        self.messages.get(index)?.attributes.as_deref()
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

/// As `write!(text, "{number}")`, which takes longer than all the rest of a short message.
fn push_number(text: &mut String, mut number: usize) {
    let mut digits = [0_u8; 20]; // as many as 64 bits have
    let mut first = digits.len();
    for (place, digit) in digits.iter_mut().enumerate().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        first = place;
        if number == 0 {
            break;
        }
    }
    let digits = digits.get(first..).unwrap_or_default();
    text.push_str(std::str::from_utf8(digits).unwrap_or_default());
}
