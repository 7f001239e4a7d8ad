//! The message that quotes the items of sources, in requests without a plan.

use std::fmt;
use std::sync::Arc;

use cupel::ContextItem;

use crate::models::{Meter, ModelFacts};

/// Sets where the items of sources stand in a request without a [plan](cupel::conversation::plan), and
/// what is written around them.
///
/// Items of sources are [quoted](cupel::conversation::plan::Quotation), with or without a plan: what a
/// source gives is data and cannot pass for instructions.
///
/// ```
/// use cupel_json::{ContextPosition, ContextRole, ContextTemplate};
///
/// let template = ContextTemplate::new()
///     .header("Use these passages if they help:\n")
///     .item(|item| format!("Passage: {}", item.content()))
///     .role(ContextRole::Developer)
///     .position(ContextPosition::AfterInstructions);
/// # let _ = template;
/// ```
#[derive(Clone)]
pub struct ContextTemplate {
    header: String,
    item: Render,
    footer: String,
    role: ContextRole,
    position: ContextPosition,
}

type Render = Arc<dyn Fn(&ContextItem) -> String + Send + Sync>;

/// Role of the message that the retrieved items are in.
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

/// Position of the retrieved items.
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
    /// The items' contents, with nothing around their quotation.
    #[must_use]
    pub fn new() -> Self {
        Self {
            header: String::new(),
            item: Arc::new(|item| item.content().to_owned()),
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

    /// Sets the text of an item, before it is quoted. The same item must always have the same text.
    #[must_use]
    pub fn item(mut self, render: impl Fn(&ContextItem) -> String + Send + Sync + 'static) -> Self {
        self.item = Arc::new(render);
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

    /// The message around a quotation.
    pub(crate) fn around(&self, quotation: &str) -> String {
        format!("{}{quotation}{}", self.header, self.footer)
    }

    /// Tokens of the message without the quotation.
    pub(crate) fn frame_tokens<M: ModelFacts>(&self, meter: &Meter<M>) -> i64 {
        // It is a part of the user's message where messages are lists of parts.
        let around = match meter.format.per_part {
            0 => meter.message(self.role.as_str()),
            part => part,
        };
        around
            .saturating_add(meter.text(&self.header))
            .saturating_add(meter.text(&self.footer))
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
