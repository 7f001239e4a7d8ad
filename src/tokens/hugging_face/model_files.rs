//! A model's tokenizer and chat template, from one folder.

use std::path::Path;
use std::sync::Arc;

use super::chat_template::read_if_there;
use super::{ChatTemplate, TokenizerError, TokenizerFile};
use crate::tokens::{CachedCounter, TokenCounter};

/// Exact counter and chat template of a model, as its files say.
///
/// ```no_run
/// use cupel::tokens::{ModelFiles, TokenCounter};
///
/// let files = ModelFiles::open("/models/qwen/tokenizer.json")?;
/// println!("{} tokens", files.counter().count("How many?"));
/// println!("{:?}", files.template().map(|template| template.overhead()));
/// # Ok::<(), cupel::tokens::TokenizerError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct ModelFiles {
    counter: Arc<CachedCounter<TokenizerFile>>,
    /// Set if the template writes results as JSON strings.
    escaped: Option<Arc<CachedCounter<EscapedCounter>>>,
    template: Option<Arc<ChatTemplate>>,
}

impl ModelFiles {
    /// Reads a `tokenizer.json` and, from the same folder, the chat template in `chat_template.jinja` or
    /// `tokenizer_config.json`, if there is one. A folder stands for the `tokenizer.json` in it.
    ///
    /// It takes up to seconds. Nothing is downloaded, and files that change later are not read again.
    ///
    /// # Errors
    ///
    /// Returns why a file cannot be read or used.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TokenizerError> {
        let path = path.as_ref();
        let joined = path.join("tokenizer.json");
        let path = if path.is_dir() { &joined } else { path };
        let mut files = Self::of(TokenizerFile::open(path)?);
        let config_path = path.with_file_name("tokenizer_config.json");
        let source_path = path.with_file_name("chat_template.jinja");
        let config = read_if_there(&config_path)?;
        let source = read_if_there(&source_path)?;
        let name = if source.is_some() { &source_path } else { &config_path };
        let name = name.display().to_string();
        let source = source.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        if config.is_some() || source.is_some() {
            let config = config.unwrap_or_else(|| b"{}".to_vec());
            let counter = Arc::<CachedCounter<_>>::clone(&files.counter);
            if let Some(template) = ChatTemplate::read(name, &config, source.as_deref(), counter)? {
                files = files.templated(template);
            }
        }
        Ok(files)
    }

    /// Counts with a tokenizer that was read otherwise, without a template.
    pub fn of(tokenizer: TokenizerFile) -> Self {
        Self { counter: Arc::new(CachedCounter::new(tokenizer)), escaped: None, template: None }
    }

    /// Sets the chat template: one that a server was given instead of the model's own.
    ///
    /// # Errors
    ///
    /// Returns why the template cannot be used.
    pub fn with_template(
        self,
        name: impl Into<String>,
        source: &str,
    ) -> Result<Self, TokenizerError> {
        let counter = Arc::<CachedCounter<_>>::clone(&self.counter);
        let template = ChatTemplate::new(name, source, counter)?;
        Ok(self.templated(template))
    }

    fn templated(mut self, template: ChatTemplate) -> Self {
        let plain = Arc::clone(&self.counter);
        self.escaped = template
            .escapes_results()
            .then(|| Arc::new(CachedCounter::new(EscapedCounter { plain })));
        self.template = Some(Arc::new(template));
        self
    }

    /// Counter that remembers what it has counted.
    ///
    /// If the template [escapes results](ChatTemplate::escapes_results), every text counts as a JSON string where that
    /// has more tokens: the counter does not know which texts are results.
    #[must_use]
    pub fn counter(&self) -> Arc<dyn TokenCounter> {
        match &self.escaped {
            Some(escaped) => Arc::<CachedCounter<_>>::clone(escaped),
            None => Arc::<CachedCounter<_>>::clone(&self.counter),
        }
    }

    /// The chat template, if there is one.
    #[must_use]
    pub fn template(&self) -> Option<&Arc<ChatTemplate>> {
        self.template.as_ref()
    }
}

/// Counts a text as a JSON string, if that has more tokens than the text.
#[derive(Debug)]
struct EscapedCounter {
    plain: Arc<CachedCounter<TokenizerFile>>,
}

impl TokenCounter for EscapedCounter {
    fn count(&self, text: &str) -> i64 {
        let plain = self.plain.inner().count(text);
        let needs_escape = |byte: u8| byte < 0x20 || matches!(byte, b'"' | b'\\');
        if !text.bytes().any(needs_escape) {
            return plain;
        }
        let json = serde_json::to_string(text).unwrap_or_default();
        let inner = json.get(1..json.len().saturating_sub(1)).unwrap_or_default();
        plain.max(self.plain.inner().count(inner))
    }

    fn nanoseconds_per_byte(&self) -> u64 {
        self.plain.nanoseconds_per_byte().saturating_mul(2)
    }

    fn name(&self) -> &str {
        self.plain.name()
    }
}
