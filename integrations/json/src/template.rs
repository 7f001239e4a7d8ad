//! How what sources gave is written into a request: as one message.

use std::fmt;
use std::sync::Arc;

use cupel::ContextItem;

use crate::count::Meter;
use crate::models::ModelFacts;

/// Writes retrieved items as one message, in the placer's order.
///
/// ```
/// use cupel_json::{ContextPosition, ContextRole, ContextTemplate};
///
/// let template = ContextTemplate::new()
///     .header("Use these passages if they help:\n")
///     .item(|item| format!("<passage>{}</passage>", item.content()))
///     .separator("\n")
///     .role(ContextRole::Developer)
///     .position(ContextPosition::AfterInstructions);
/// # let _ = template;
/// ```
#[derive(Clone)]
pub struct ContextTemplate {
    header: String,
    item: Render,
    separator: String,
    footer: String,
    role: ContextRole,
    position: ContextPosition,
}

type Render = Arc<dyn Fn(&ContextItem) -> String + Send + Sync>;

/// Whose message the retrieved items are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ContextRole {
    /// The user's: what was retrieved has no authority over the model.
    #[default]
    User,
    /// The system's.
    System,
    /// The developer's, as newer models have it.
    Developer,
}

/// Where the retrieved items stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ContextPosition {
    /// Right before the last user message, or after the instructions when there is none.
    #[default]
    BeforeLastUser,
    /// After the system and developer messages at the start.
    AfterInstructions,
}

/// For what a tokenizer does at the seam of two texts that were counted apart.
const SEAM_TOKENS: i64 = 1;

impl ContextTemplate {
    /// The items' contents under the heading "Context:", with an empty line between them.
    #[must_use]
    pub fn new() -> Self {
        Self {
            header: "Context:\n\n".to_owned(),
            item: Arc::new(|item| item.content().to_owned()),
            separator: "\n\n".to_owned(),
            footer: String::new(),
            role: ContextRole::default(),
            position: ContextPosition::default(),
        }
    }

    /// Sets the text before all items.
    #[must_use]
    pub fn header(mut self, header: impl Into<String>) -> Self {
        self.header = header.into();
        self
    }

    /// Sets how an item is written. The same item must always be written alike.
    #[must_use]
    pub fn item(mut self, render: impl Fn(&ContextItem) -> String + Send + Sync + 'static) -> Self {
        self.item = Arc::new(render);
        self
    }

    /// Sets the text between two items.
    #[must_use]
    pub fn separator(mut self, separator: impl Into<String>) -> Self {
        self.separator = separator.into();
        self
    }

    /// Sets the text after all items.
    #[must_use]
    pub fn footer(mut self, footer: impl Into<String>) -> Self {
        self.footer = footer.into();
        self
    }

    /// Sets whose message it is; the user's unless set.
    #[must_use]
    pub fn role(mut self, role: ContextRole) -> Self {
        self.role = role;
        self
    }

    /// Sets where it stands; before the last user message unless set.
    #[must_use]
    pub fn position(mut self, position: ContextPosition) -> Self {
        self.position = position;
        self
    }

    pub(crate) fn placed_at(&self) -> ContextPosition {
        self.position
    }

    pub(crate) fn written_as(&self) -> ContextRole {
        self.role
    }

    /// An item as it is written.
    pub(crate) fn item_text(&self, item: &ContextItem) -> String {
        (self.item)(item)
    }

    /// The message.
    pub(crate) fn render<'a>(&self, items: impl Iterator<Item = &'a ContextItem>) -> String {
        let items: Vec<String> = items.map(|item| (self.item)(item)).collect();
        format!("{}{}{}", self.header, items.join(&self.separator), self.footer)
    }

    /// The tokens of the message without its items.
    pub(crate) fn frame_tokens<M: ModelFacts>(&self, meter: &Meter<M>) -> i64 {
        // It is a part of the user's message where messages are lists of parts.
        let around = match M::FORMAT.per_part {
            0 => meter.message(self.role.as_str()),
            part => part,
        };
        around
            .saturating_add(meter.text(&self.header))
            .saturating_add(meter.text(&self.footer))
            .saturating_add(SEAM_TOKENS)
    }

    /// The tokens of an item in the message.
    pub(crate) fn item_tokens<M: ModelFacts>(&self, meter: &Meter<M>, item: &ContextItem) -> i64 {
        meter
            .text(&(self.item)(item))
            .saturating_add(meter.text(&self.separator))
            .saturating_add(SEAM_TOKENS)
    }
}

impl Default for ContextTemplate {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ContextTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextTemplate")
            .field("header", &self.header)
            .field("separator", &self.separator)
            .field("footer", &self.footer)
            .field("role", &self.role)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

impl ContextRole {
    fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::System => "system",
            Self::Developer => "developer",
        }
    }
}

impl fmt::Display for ContextRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
