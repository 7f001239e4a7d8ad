//! Tokens of the parts of a request, in the form in which rig sends them.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use cupel::conversation::Role;
use cupel::tokens::{ClaudeTokenizer, FormatOverhead, TokenCounter, ToolPrices};
use rig_core::completion::history::NO_TOOL_OUTPUT;
use rig_core::completion::{CompletionRequest, ToolDefinition};
use rig_core::message::{
    AssistantContent, AssistantMessage, DocumentSourceKind, ToolCall, ToolResult,
    ToolResultContent, UserContent,
};
use serde::Serialize;
use serde_json::Value;

use super::media::MediaTokens;

/// Counts the parts of one request.
pub(super) struct TokenCounts {
    counter: Arc<dyn TokenCounter>,
    /// Overhead of the format: Anthropic's, or OpenAI's, which is close to those of other providers.
    format: FormatOverhead,
    /// Tokenizer of a Claude model.
    claude: Option<ClaudeTokenizer>,
    media: MediaTokens,
    /// True if tool calls and results are sent in their native form. Without tools in the request, rig sends
    /// them as text.
    tools: bool,
    /// Overhead of a message by role: system, user, model, tool.
    messages: [i64; 4],
    /// Buffer for JSON that is counted. It is reused, since there may be thousands of tool calls.
    json: Vec<u8>,
}

impl TokenCounts {
    pub(super) fn new(
        counter: Arc<dyn TokenCounter>,
        claude: Option<ClaudeTokenizer>,
        media: MediaTokens,
        tools: bool,
    ) -> Self {
        let format = claude.map_or(FormatOverhead::CHAT, |_| FormatOverhead::CLAUDE);
        let messages = ["system", "user", "assistant", "tool"];
        let messages = messages.map(|role| format.message(&*counter, role));
        Self { counter, format, claude, media, tools, messages, json: Vec::new() }
    }

    pub(super) fn counter(&self) -> Arc<dyn TokenCounter> {
        Arc::clone(&self.counter)
    }

    pub(super) fn text(&self, text: &str) -> i64 {
        // A counter of the caller's may say anything; less than nothing would make room.
        self.counter.count(text).max(0)
    }

    /// Something that is sent as JSON.
    fn json(&mut self, value: &impl Serialize) -> i64 {
        self.json.clear();
        if serde_json::to_writer(&mut self.json, value).is_err() {
            return 0; // then it cannot be sent either
        }
        str::from_utf8(&self.json).map_or(0, |json| self.text(json))
    }

    /// A document as it is rendered, in a message of its own.
    pub(super) fn document(&self, rendered: &str) -> i64 {
        self.text(rendered).saturating_add(self.frame(Role::User, [Role::User]))
    }

    /// A message of the system.
    pub(super) fn system(&self, text: &str) -> i64 {
        self.text(text).saturating_add(self.frame(Role::System, [Role::System]))
    }

    /// A message of the user. `results` gets the tokens of each text in the results of tools.
    pub(super) fn user(&mut self, content: &[UserContent], results: &mut Vec<i64>) -> i64 {
        let parts = sum(content.iter().map(|part| match part {
            UserContent::Text(text) => self.text(&text.text),
            UserContent::ToolResult(result) => self.tool_result(result, results),
            UserContent::Image(image) => self.media.image(image),
            UserContent::Audio(audio) => self.media.audio(audio),
            UserContent::Video(video) => self.media.video(video),
            UserContent::Document(document) => match &document.data {
                DocumentSourceKind::String(text) => self.text(text),
                _ => self.media.file(document),
            },
        }));
        // In OpenAI's formats each result is a message of its own.
        let role = |part: &UserContent| match part {
            UserContent::ToolResult(_) if self.tools => Role::Tool,
            _ => Role::User,
        };
        parts.saturating_add(self.frame(Role::User, content.iter().map(role)))
    }

    /// A message of the model.
    pub(super) fn assistant(&mut self, turn: &AssistantMessage) -> i64 {
        let parts = sum(turn.content.iter().map(|part| match part {
            AssistantContent::Text(text) => self.text(&text.text),
            AssistantContent::ToolCall(call) => self.tool_call(call),
            AssistantContent::Reasoning(reasoning) => match &reasoning.native {
                // What is withheld is sent as a provider's own, unreadable item.
                Some(native) if reasoning.redacted || reasoning.text.trim().is_empty() => {
                    unreadable(&native.item)
                }
                Some(native) => self.sealed(&native.item, self.text(&reasoning.text)),
                None => self.text(&reasoning.text),
            },
            AssistantContent::Image(image) => self.media.image(image),
            AssistantContent::Opaque(opaque) => unreadable(&opaque.item),
            // Kinds of content that rig may add: what they are as JSON.
            other => self.json(other),
        }));
        let roles = turn.content.iter().map(|_| Role::Assistant);
        parts.saturating_add(self.frame(Role::Assistant, roles))
    }

    fn tool_call(&mut self, call: &ToolCall) -> i64 {
        let arguments = match &call.function.invalid_arguments {
            Some(text) => self.text(text),
            None => self.json(&call.function.arguments),
        };
        let name = &call.function.name;
        let frame = if self.tools {
            self.format.per_call.saturating_add(self.text(name))
        } else {
            self.text(&format!("[called tool {name} with ")).saturating_add(self.text("]"))
        };
        arguments.saturating_add(frame)
    }

    /// A tool's result without what is sent around its message. `texts` gets the tokens of each part of
    /// it that is [text](super::results).
    pub(super) fn tool_result(&mut self, result: &ToolResult, texts: &mut Vec<i64>) -> i64 {
        let kind = if result.is_error { "error" } else { "result" };
        let heading = match self.tools {
            true => self.text(&result.name),
            false => self.text(&format!("[tool {} {kind}] ", result.name)),
        };
        let parts = sum(result.content.iter().map(|part| {
            let tokens = match part {
                ToolResultContent::Text(text) => self.text(&text.text),
                ToolResultContent::Json { value } => self.json(value),
                ToolResultContent::Image(image) => return self.media.image(image),
            };
            texts.push(tokens);
            tokens
        }));
        // Rig says so where a result says nothing, and puts each part on a line of its own.
        let parts = if parts == 0 { self.text(NO_TOOL_OUTPUT) } else { parts };
        let lines = i64::try_from(result.content.len().saturating_sub(1)).unwrap_or(i64::MAX);
        // A result that is sent as such is a list of parts.
        let per_part = if self.tools { self.format.per_part } else { 0 };
        let nested = lines.saturating_add(1).saturating_mul(per_part);
        heading.saturating_add(parts).saturating_add(lines).saturating_add(nested)
    }

    /// Tokens of a tool. OpenAI's models have `prices` for tools.
    pub(super) fn tool(&mut self, tool: &ToolDefinition, prices: Option<ToolPrices>) -> i64 {
        match prices {
            Some(prices) => {
                let (name, about) = (tool.name.as_str(), tool.description.as_str());
                prices.function(&*self.counter, name, about, &tool.parameters)
            }
            None => self.provider_tool(tool),
        }
    }

    /// Tokens of a tool that is sent as this JSON, such as one that the provider runs itself.
    pub(super) fn provider_tool(&mut self, tool: &impl Serialize) -> i64 {
        let around = self.format.per_message.saturating_add(self.format.per_part);
        self.json(tool).saturating_add(around)
    }

    /// Tools of so many tokens, an output schema and the priming of the answer: sent whatever is selected.
    pub(super) fn fixed(
        &mut self,
        request: &CompletionRequest,
        prices: Option<ToolPrices>,
        tools: i64,
    ) -> i64 {
        let format = self.format;
        let mut tokens = format.answer.saturating_add(tools);
        let mut add = |more: i64| tokens = tokens.saturating_add(more);
        if has_tools(request) {
            add(prices.map_or(format.tools, |prices| prices.end));
        }
        if let Some(schema) = &request.output_schema {
            add(self.json(schema));
        }
        tokens
    }

    /// Overhead of one more part in a message. OpenAI's Responses API takes each part as an item of its own.
    /// The API is not known here, so this is the larger overhead.
    pub(super) fn part(&self, role: Role) -> i64 {
        if self.claude.is_some() { self.format.per_part } else { self.message(role) }
    }

    /// Overhead of a message in this role, without its parts.
    fn message(&self, role: Role) -> i64 {
        let [system, user, assistant, tool] = self.messages;
        match role {
            Role::System => system,
            Role::User => user,
            Role::Tool => tool,
            _ => assistant,
        }
    }

    /// Overhead of a message in this role with these parts. A message without parts is sent with one empty
    /// text.
    fn frame(&self, role: Role, parts: impl IntoIterator<Item = Role>) -> i64 {
        let message = if self.claude.is_some() { self.message(role) } else { 0 };
        let parts = sum(parts.into_iter().map(|role| self.part(role)));
        message.saturating_add(if parts == 0 { self.part(role) } else { parts })
    }

    /// Tokens of fields that only the provider can read, beyond the readable text. In Claude's thinking
    /// blocks both hold the same content, or a part of it.
    fn sealed(&self, item: &Value, text: i64) -> i64 {
        let fields = SEALED.iter().filter_map(|field| item.get(*field)?.as_str());
        // Four characters carry three bytes, and a token is about four bytes of text.
        let characters: usize = fields.map(str::len).sum();
        let tokens = i64::try_from((characters / 4 * 3).div_ceil(4)).unwrap_or(i64::MAX);
        match self.claude {
            None => text.saturating_add(tokens),
            Some(claude) => {
                let tokens = tokens.saturating_mul(claude.text_percent());
                text.max(tokens.saturating_add(99) / 100)
            }
        }
    }
}

fn sum(tokens: impl Iterator<Item = i64>) -> i64 {
    tokens.fold(0, i64::saturating_add)
}

/// Fields that hold what only a provider can read, in base64.
const SEALED: [&str; 3] = ["signature", "encrypted_content", "data"];

/// A provider's item that only the provider can read: four characters to a token.
fn unreadable(item: &Value) -> i64 {
    i64::try_from(item.to_string().len().div_ceil(4)).unwrap_or(i64::MAX)
}

/// Returns true if a request offers tools, its own or the provider's.
pub(super) fn has_tools(request: &CompletionRequest) -> bool {
    !request.tools.is_empty() || provider_tools(request).next().is_some()
}

pub(super) fn provider_tools(request: &CompletionRequest) -> impl Iterator<Item = &Value> {
    let parameters = request.additional_params.as_ref();
    let tools = parameters.and_then(|value| value.get("tools")).and_then(Value::as_array);
    tools.into_iter().flatten()
}

/// Fields by which a provider continues a conversation that it holds itself.
const STORED: [&str; 3] = ["previous_response_id", "conversation", "previous_interaction_id"];

/// Hash of what stands before the messages: the model, tools and the format of the answer.
pub(super) fn fixed_identity(request: &CompletionRequest, model: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let provider_tools: Vec<_> = provider_tools(request).collect();
    let fixed = (&request.tools, provider_tools, &request.output_schema);
    (model, serde_json::to_string(&fixed).unwrap_or_default()).hash(&mut hasher);
    hasher.finish()
}

/// Context that the provider adds on its side.
pub(super) fn uncounted(request: &CompletionRequest) -> Vec<String> {
    let Some(parameters) = &request.additional_params else { return Vec::new() };
    let stored =
        STORED.iter().filter(|field| parameters.get(**field).is_some_and(|v| !v.is_null()));
    stored.map(|field| format!("{field}: the provider adds a conversation it holds")).collect()
}
