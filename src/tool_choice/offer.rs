//! Tools of a request, and the instructions that may name them.

use super::candidate::{ToolCandidate, keep_named};

/// Tools of a request, in its order.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct ToolOffer {
    pub(crate) tools: Vec<ToolCandidate>,
    /// Instructions beside the messages.
    instructions: String,
}

impl ToolOffer {
    /// An offer of these tools.
    pub fn new(tools: Vec<ToolCandidate>) -> Self {
        Self { tools, instructions: String::new() }
    }

    /// Adds instructions that stand beside the messages. Tools that they name stay.
    pub fn instructions(mut self, text: &str) -> Self {
        self.instructions.push('\n');
        self.instructions.push_str(text);
        self
    }

    /// The tools.
    pub fn tools(&self) -> &[ToolCandidate] {
        &self.tools
    }

    /// Tokens of all definitions.
    #[must_use]
    pub fn tokens(&self) -> i64 {
        self.tools.iter().map(|tool| tool.tokens().max(0)).fold(0, i64::saturating_add)
    }

    /// The tools, with those kept that the instructions name.
    pub(crate) fn into_tools(mut self) -> Vec<ToolCandidate> {
        keep_named(&mut self.tools, &self.instructions);
        self.tools
    }
}

impl From<Vec<ToolCandidate>> for ToolOffer {
    fn from(tools: Vec<ToolCandidate>) -> Self {
        Self::new(tools)
    }
}
