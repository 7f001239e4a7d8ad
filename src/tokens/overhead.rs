//! Tokens that the format of a chat adds to the text in it.

use super::TokenCounter;

/// Tokens that the format of a chat adds to the text: separators, roles, the start of the answer.
///
/// ```
/// use cupel::tokens::{FormatOverhead, counter_fn};
///
/// let words = counter_fn("words", |text| text.split_whitespace().count() as i64);
/// assert_eq!(FormatOverhead::CHAT.message(&words, "user"), 3 + 1);
/// assert_eq!(FormatOverhead::new(5, 2).message(&words, "user"), 5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct FormatOverhead {
    /// Tokens around each message.
    pub per_message: i64,
    /// Tokens around each part of a message, where a message is a list of parts.
    pub per_part: i64,
    /// `true` if a message's role is written out, and so costs what its text costs.
    pub roles: bool,
    /// Tokens beside the name of whoever speaks, where one is given.
    pub per_name: i64,
    /// Tokens of a tool call beside its name and arguments.
    pub per_call: i64,
    /// Tokens around the result of a tool, beside those of its message.
    pub per_result: i64,
    /// Tokens that come once with the definitions of tools.
    pub tools: i64,
    /// Tokens that start the answer.
    pub answer: i64,
}

impl FormatOverhead {
    /// Chat completions, as OpenAI's
    /// [cookbook](https://cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken) counts
    /// them: three tokens and the role for each message, one for a name, one for a tool call,
    /// twelve for tools, three for the start of the answer.
    pub const CHAT: Self = Self {
        per_message: 3,
        per_part: 0,
        roles: true,
        per_name: 1,
        per_call: 1,
        per_result: 0,
        tools: 12,
        answer: 3,
    };

    /// Anthropic's Messages. The prompt that comes with tools has 346 tokens on most models, by the page on
    /// [tool use](https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview); the rest is not
    /// published, and on the high side.
    pub const CLAUDE: Self = Self {
        per_message: 5,
        per_part: 3,
        roles: false,
        per_name: 0,
        per_call: 0,
        per_result: 0,
        tools: 350,
        answer: 5,
    };

    /// Servers for open models, whatever the model: more than what the chat templates of Llama, Qwen, Mistral,
    /// Gemma, DeepSeek, Phi and ChatML add. A [`ChatTemplate`](super::ChatTemplate) says it exactly.
    pub const LOCAL: Self = Self {
        per_message: 6,
        per_part: 1,
        roles: false,
        per_name: 1,
        per_call: 20,
        per_result: 8,
        tools: 250,
        answer: 40,
    };

    /// Sets the tokens around each message.
    pub const fn with_per_message(mut self, tokens: i64) -> Self {
        self.per_message = tokens;
        self
    }

    /// So many tokens for each message, its role included, and for the start of the answer.
    pub fn new(per_message: i64, answer: i64) -> Self {
        Self {
            per_message: per_message.max(0),
            per_part: 0,
            roles: false,
            per_name: 0,
            per_call: 0,
            per_result: 0,
            tools: 0,
            answer: answer.max(0),
        }
    }

    /// No overhead: for counters that count it, or models that take plain text.
    pub fn none() -> Self {
        Self::new(0, 0)
    }

    /// Tokens of a message in this role beside its content.
    pub fn message<C: TokenCounter + ?Sized>(&self, counter: &C, role: &str) -> i64 {
        let is_result = matches!(role, "tool" | "function");
        let result = if is_result { self.per_result } else { 0 };
        let role = if self.roles { counter.count(role).max(0) } else { 0 };
        self.per_message.saturating_add(result).saturating_add(role)
    }
}

impl Default for FormatOverhead {
    /// The format of [chat completions](Self::CHAT).
    fn default() -> Self {
        Self::CHAT
    }
}
