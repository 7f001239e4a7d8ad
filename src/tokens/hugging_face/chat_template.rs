//! A model's chat template: what it adds to the texts of a request, in tokens.

use std::fmt;
use std::sync::Arc;

use minijinja::Value;
use serde_json::Value as Json;

use super::derive::{derive, escapes_results};
use super::render::{Renderer, SpecialTokens};
use super::{TokenizerError, read};
use crate::text_cache::TextCache;
use crate::tokens::{FormatOverhead, TokenCounter};

/// Tokens of the words with which a server introduces tools that the template does not show.
const TOOL_INSTRUCTIONS: i64 = 150;

/// Bytes for the counts of sets of tools.
const CACHE_BYTES: u64 = 1 << 20;

/// Counts what a model's chat template adds to the texts of a request, definitions of tools included.
///
/// The template is rendered with short conversations when it is read, and with each new set of tools. The
/// differences are its [`overhead`](Self::overhead): for a message, a call, a result and the start of the
/// answer. So a request is counted message by message, and a long conversation is never rendered as a whole.
/// The sum is at least the count of the rendered request, as [`count`](Self::count) gives it.
///
/// ```
/// use std::sync::Arc;
/// use cupel::tokens::{ChatTemplate, counter_fn};
///
/// let words = counter_fn("words", |text| text.split_whitespace().count() as i64);
/// let source = "{% for message in messages %}<start> {{ message.role }} {{ message.content }} <end> {% endfor %}\
///               {% if add_generation_prompt %}<start> assistant{% endif %}";
/// let template = ChatTemplate::new("chatml", source, Arc::new(words))?;
/// assert_eq!(template.overhead().per_message, 3);
/// assert_eq!(template.overhead().answer, 2);
/// assert_eq!(template.count(r#"[{"role": "user", "content": "hello there"}]"#, None)?, 7);
/// # Ok::<(), cupel::tokens::TokenizerError>(())
/// ```
pub struct ChatTemplate {
    name: String,
    renderer: Renderer,
    overhead: FormatOverhead,
    shows_tools: bool,
    escapes_results: bool,
    tools: TextCache<i64>,
}

impl ChatTemplate {
    /// Reads a template. The name is for errors.
    ///
    /// # Errors
    ///
    /// Returns why the template cannot be read, or cannot render a message of a user.
    pub fn new(
        name: impl Into<String>,
        source: &str,
        counter: Arc<dyn TokenCounter>,
    ) -> Result<Self, TokenizerError> {
        Self::with(name.into(), [source, source], SpecialTokens::default(), counter)
    }

    /// Reads the template in a `tokenizer_config.json`; `None` if there is none in it.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and if it is no JSON.
    pub fn from_config(
        name: impl Into<String>,
        json: &[u8],
        counter: Arc<dyn TokenCounter>,
    ) -> Result<Option<Self>, TokenizerError> {
        Self::read(name.into(), json, None, counter)
    }

    /// Reads the template of a configuration, or the one in a file of its own.
    pub(super) fn read(
        name: String,
        config: &[u8],
        source: Option<&str>,
        counter: Arc<dyn TokenCounter>,
    ) -> Result<Option<Self>, TokenizerError> {
        let config: Json = serde_json::from_slice(config)
            .map_err(|error| TokenizerError::new(&*name, format!("it is no JSON: {error}")))?;
        let token = |field: &str| {
            let token = config.get(field).unwrap_or(&Json::Null);
            let token = token.get("content").unwrap_or(token);
            token.as_str().unwrap_or_default().to_owned()
        };
        let special = SpecialTokens {
            bos: token("bos_token"),
            eos: token("eos_token"),
            adds_bos: config.get("add_bos_token").and_then(Json::as_bool) != Some(false),
        };
        let named = |wanted: &str| {
            let templates = config.get("chat_template")?;
            let has_name = |entry: &&Json| entry.get("name").and_then(Json::as_str) == Some(wanted);
            let entry = templates.as_array()?.iter().find(has_name)?;
            entry.get("template")?.as_str()
        };
        let only = source.or_else(|| config.get("chat_template").and_then(Json::as_str));
        let Some(chat) = only.or_else(|| named("default")) else { return Ok(None) };
        let tools = only.or_else(|| named("tool_use")).unwrap_or(chat);
        Self::with(name, [chat, tools], special, counter).map(Some)
    }

    fn with(
        name: String,
        [chat, tools]: [&str; 2],
        special: SpecialTokens,
        counter: Arc<dyn TokenCounter>,
    ) -> Result<Self, TokenizerError> {
        let failed = |problem| TokenizerError::new(&*name, problem);
        let renderer = Renderer::new([chat, tools], special, counter)
            .map_err(|problem| failed(format!("its chat template cannot be read: {problem}")))?;
        let overhead = derive(&renderer).map_err(|problem| {
            failed(format!("its chat template cannot render a user's message: {problem}"))
        })?;
        let tools = TextCache::new(CACHE_BYTES, 256, |_| 0);
        let escapes_results = escapes_results(&renderer);
        let mut template =
            Self { name, renderer, overhead, shows_tools: false, escapes_results, tools };
        template.shows_tools = template.tools_tokens(PROBE_TOOLS).is_some_and(|tokens| tokens > 0);
        Ok(template)
    }

    /// Tokens that the template adds to the texts of a request.
    pub fn overhead(&self) -> FormatOverhead {
        self.overhead
    }

    /// Returns true if the template writes results of tools as JSON strings, as those of Llama 3 do. Then a result
    /// has more tokens than its text.
    #[must_use]
    pub fn escapes_results(&self) -> bool {
        self.escapes_results
    }

    /// Tokens of definitions of tools, in the format of Chat Completions. Each set is rendered once.
    ///
    /// Servers whose template shows no tools write them into the prompt in their own way. Such tools, and those
    /// that the template refuses, count as JSON and the usual instructions.
    pub fn tools(&self, json: &str) -> i64 {
        self.tools.get_or_insert(&self.tools.key(json, ()), || {
            let rendered = if self.shows_tools { self.tools_tokens(json) } else { None };
            rendered.unwrap_or_else(|| self.renderer.count(json).saturating_add(TOOL_INSTRUCTIONS))
        })
    }

    /// Difference that tools make to a rendered conversation.
    fn tools_tokens(&self, json: &str) -> Option<i64> {
        let with = |messages: &str| {
            let plain = self.count(messages, None).ok()?;
            Some(self.count(messages, Some(json)).ok()?.saturating_sub(plain).max(0))
        };
        let told = r#"[{"role":"system","content":"Help."},{"role":"user","content":"Go on."}]"#;
        let asked = r#"[{"role":"user","content":"Go on."}]"#;
        // Some templates greet, or explain themselves, only where there is no system message.
        with(told).max(with(asked))
    }

    /// Tokens of a rendered request up to the start of the answer, by its messages and tools in the format of
    /// Chat Completions.
    ///
    /// # Errors
    ///
    /// Returns why the template refuses the messages, or that they are no JSON.
    pub fn count(&self, messages: &str, tools: Option<&str>) -> Result<i64, TokenizerError> {
        let parse = |json| serde_json::from_str::<Value>(json);
        let values =
            parse(messages).and_then(|messages| Ok((messages, tools.map(parse).transpose()?)));
        let (messages, tools) = values
            .map_err(|error| TokenizerError::new(&*self.name, format!("no JSON: {error}")))?;
        self.renderer.tokens(&messages, tools, true).map_err(|problem| {
            TokenizerError::new(
                &*self.name,
                format!("its chat template refuses the messages: {problem}"),
            )
        })
    }
}

/// A tool that shows if a template writes tools at all.
const PROBE_TOOLS: &str = r#"[{"type":"function","function":{"name":"probe","description":"A probe.",
    "parameters":{"type":"object","properties":{"part":{"type":"string","description":"A part."}},
    "required":["part"]}}}]"#;

/// Largest `tokenizer_config.json` that is read: those of large models list hundreds of special tokens.
pub(super) const MOST_CONFIG_BYTES: u64 = 16 << 20;

/// Reads a file that may be missing.
pub(super) fn read_if_there(path: &std::path::Path) -> Result<Option<Vec<u8>>, TokenizerError> {
    if path.exists() { read(path, MOST_CONFIG_BYTES).map(Some) } else { Ok(None) }
}

impl fmt::Debug for ChatTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatTemplate")
            .field("name", &self.name)
            .field("overhead", &self.overhead)
            .field("shows_tools", &self.shows_tools)
            .finish_non_exhaustive()
    }
}
