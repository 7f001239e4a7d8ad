//! A compactor over an `async-openai` client.

use std::fmt;
use std::sync::Arc;

use async_openai::Client;
use async_openai::config::Config;
use async_openai::types::chat::{
    ChatCompletionRequestSystemMessage, ChatCompletionRequestUserMessage,
    CreateChatCompletionRequestArgs,
};
use cupel::conversation::plan::CellContent;
use cupel::gather::{BoxError, Compactor, CompactorPrice, SUMMARY_PROMPT, compactor_version};
use futures::future::BoxFuture;

/// Makes [summaries](cupel::layer::Compaction) with a model behind Chat Completions.
///
/// **What leaves the process**: the whole texts of the summarised messages go to the client's server.
///
/// ```
/// use async_openai::Client;
/// use async_openai::config::OpenAIConfig;
/// use cupel::gather::{Compactor as _, CompactorPrice};
/// use cupel_async_openai::ChatCompactor;
///
/// let client = Client::with_config(OpenAIConfig::new().with_api_key("sk-1"));
/// let compactor = ChatCompactor::new(client, "gpt-4.1-nano")
///     .price(CompactorPrice { input: 0.05, output: 0.2 });
/// assert_eq!(compactor.name(), "gpt-4.1-nano");
/// ```
#[must_use]
pub struct ChatCompactor<C: Config> {
    client: Arc<Client<C>>,
    model: Arc<str>,
    prompt: Arc<str>,
    version: Arc<str>,
    price: CompactorPrice,
}

impl<C: Config> ChatCompactor<C> {
    /// A compactor that asks this model for summaries, with [`SUMMARY_PROMPT`].
    pub fn new(client: Client<C>, model: impl Into<Arc<str>>) -> Self {
        let compactor = Self {
            client: Arc::new(client),
            model: model.into(),
            prompt: "".into(),
            version: "".into(),
            price: CompactorPrice::SAME_MODEL,
        };
        compactor.prompt(SUMMARY_PROMPT)
    }

    /// Sets the instructions of the model. `{limit}` in them stands for the limit in tokens.
    pub fn prompt(mut self, prompt: impl Into<Arc<str>>) -> Self {
        self.prompt = prompt.into();
        self.version = compactor_version(&[&self.model, &self.prompt]).into();
        self
    }

    /// Sets the price of the model's tokens; that of [the conversation's model](CompactorPrice::SAME_MODEL)
    /// unless set.
    pub fn price(mut self, price: CompactorPrice) -> Self {
        self.price = price;
        self
    }
}

impl<C: Config + 'static> Compactor for ChatCompactor<C> {
    fn compact<'s, 'c, 'f>(
        &'s self,
        cell: &'c CellContent,
        limit: i64,
    ) -> BoxFuture<'f, Result<String, BoxError>>
    where
        's: 'f,
        'c: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            let instructions = self.prompt.replace("{limit}", &limit.to_string());
            let request = CreateChatCompletionRequestArgs::default()
                .model(&*self.model)
                .messages([
                    ChatCompletionRequestSystemMessage::from(instructions).into(),
                    ChatCompletionRequestUserMessage::from(cell.quoted()).into(),
                ])
                .build()?;
            let answer = self.client.chat().create(request).await?;
            let text = answer.choices.into_iter().next().and_then(|choice| choice.message.content);
            text.ok_or_else(|| "the model's answer has no text".into())
        })
    }

    fn name(&self) -> &str {
        &self.model
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn price(&self) -> CompactorPrice {
        self.price
    }
}

impl<C: Config> Clone for ChatCompactor<C> {
    fn clone(&self) -> Self {
        Self {
            client: Arc::clone(&self.client),
            model: Arc::clone(&self.model),
            prompt: Arc::clone(&self.prompt),
            version: Arc::clone(&self.version),
            price: self.price,
        }
    }
}

impl<C: Config> fmt::Debug for ChatCompactor<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatCompactor").field("model", &self.model).finish_non_exhaustive()
    }
}
