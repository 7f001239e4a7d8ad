//! Messages that are kept or dropped together, as one item.

use super::message::{Message, Role};
use super::rules::Timestamps;
use crate::error::CupelError;
use crate::model::{ContextItem, ContextKind, ContextSource, Fold};

/// Makes items of the messages of a conversation.
pub(super) struct Items<'a, W> {
    messages: &'a [Message],
    pinned: &'a [bool],
    timestamps: Timestamps,
    write: W,
    /// The content under way; kept, since conversations have thousands of messages.
    content: String,
    number: itoa::Buffer,
}

impl<'a, W: FnMut(usize, &mut String)> Items<'a, W> {
    pub(super) fn new(
        messages: &'a [Message],
        pinned: &'a [bool],
        timestamps: Timestamps,
        write: W,
    ) -> Self {
        Self {
            messages,
            pinned,
            timestamps,
            write,
            content: String::new(),
            number: itoa::Buffer::new(),
        }
    }

    /// One item of the messages with these indexes: their [`Fold`], with the first one's kind,
    /// source and metadata.
    pub(super) fn item(&mut self, members: &[usize]) -> Result<ContextItem, CupelError> {
        self.content.clear();
        let mut fold = Fold::default();
        for index in members {
            let Some(message) = self.messages.get(*index) else { continue };
            self.write_message(*index, message.role);
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
    fn write_message(&mut self, index: usize, role: Role) {
        if !self.content.is_empty() {
            self.content.push('\n');
        }
        self.content.push('[');
        self.content.push_str(self.number.format(index));
        self.content.push_str("] ");
        self.content.push_str(role.name());
        self.content.push_str(": ");
        (self.write)(index, &mut self.content);
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
