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
            let template = ChatTemplate::read(name, &config, source.as_deref(), counter)?;
            files.template = template.map(Arc::new);
        }
        Ok(files)
    }

    /// Counts with a tokenizer that was read otherwise, without a template.
    pub fn of(tokenizer: TokenizerFile) -> Self {
        Self { counter: Arc::new(CachedCounter::new(tokenizer)), template: None }
    }

    /// Sets the chat template: one that a server was given instead of the model's own.
    ///
    /// # Errors
    ///
    /// Returns why the template cannot be used.
    pub fn with_template(
        mut self,
        name: impl Into<String>,
        source: &str,
    ) -> Result<Self, TokenizerError> {
        let template = ChatTemplate::new(name, source, self.counter())?;
        self.template = Some(Arc::new(template));
        Ok(self)
    }

    /// Counter that remembers what it has counted.
    #[must_use]
    pub fn counter(&self) -> Arc<dyn TokenCounter> {
        Arc::<CachedCounter<_>>::clone(&self.counter)
    }

    /// The chat template, if there is one.
    #[must_use]
    pub fn template(&self) -> Option<&Arc<ChatTemplate>> {
        self.template.as_ref()
    }
}
