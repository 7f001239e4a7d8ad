//! The conversation a selection belongs to.

use opentelemetry::baggage::BaggageExt;
use opentelemetry::{Context, StringValue};

use crate::attributes::CONVERSATION_ID;

/// The conversation a selection belongs to, as a value of the caller's [`Context`].
///
/// It becomes the attribute `gen_ai.conversation.id` of the topmost span. Baggage of that name does
/// the same where there is no such value; but baggage also leaves the process in the headers of
/// outgoing calls, and this value does not.
///
/// ```
/// use cupel_otel::ConversationId;
/// use opentelemetry::Context;
///
/// let context = Context::current_with_value(ConversationId::new("conversation-7"));
/// let _attached = context.attach(); // or `future.with_context(context)` around async code
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConversationId(StringValue);

impl ConversationId {
    /// Names a conversation.
    #[must_use]
    pub fn new(id: impl Into<StringValue>) -> Self {
        Self(id.into())
    }

    /// What the caller has said.
    pub(crate) fn of(context: &Context) -> Option<StringValue> {
        let value = context.get::<Self>().map(|id| id.0.clone());
        value.or_else(|| context.baggage().get(CONVERSATION_ID).cloned())
    }
}
