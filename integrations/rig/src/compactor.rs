//! Summaries by rig's models and with rig's traits, in both directions.
//!
//! - [`ModelCompactor`] asks any rig completion model for summaries.
//! - [`RigCompactor`] is one of rig's compactors as one of this library.
//! - [`MemoryCompactor`] is one of this library as one of rig's.
//! - [`DemotionCompactor`] hands the texts of what leaves the window over to rig's `DemotionHook`.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use cupel::conversation::Role;
use cupel::conversation::plan::{CellContent, CellMessage};
use cupel::gather::{BoxError, Compactor, CompactorPrice, SUMMARY_PROMPT, compactor_version};
use cupel::tokens::{HeuristicCounter, TokenCounter as _};
use rig_core::DynModel;
use rig_core::completion::CompletionRequest;
use rig_core::id::ConversationId;
use rig_core::memory::{self, DemotionHook, MemoryError};
use rig_core::message::Message;
use rig_core::operation::Completion;
use rig_core::wasm_compat::WasmBoxedFuture;

use crate::adapter::{has_results, text_of};

/// Makes [summaries](cupel::layer::Compaction) with a rig completion model.
///
/// **What leaves the process**: the whole texts of the summarised messages go to the model's provider.
///
/// ```
/// use cupel::conversation::Role;
/// use cupel::conversation::plan::{CellContent, CellMessage};
/// use cupel::gather::Compactor as _;
/// use cupel_rig::compactor::ModelCompactor;
/// use rig_core::test_utils::MockCompletionModel;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let model = MockCompletionModel::text("Order 7 is in Lyon.");
/// let compactor = ModelCompactor::new("small-model", model);
/// let cell = CellContent::new(vec![CellMessage::new(Role::User, "Where is order 7?", 6)]);
/// assert_eq!(compactor.compact(&cell, 50).await?, "Order 7 is in Lyon.");
/// # Ok::<(), cupel::gather::BoxError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
#[must_use]
pub struct ModelCompactor {
    model: DynModel<Completion>,
    name: Arc<str>,
    prompt: Arc<str>,
    version: Arc<str>,
    price: CompactorPrice,
}

impl ModelCompactor {
    /// A compactor that asks this model for summaries, with [`SUMMARY_PROMPT`]. The name is the model's: it
    /// is part of the keys of summaries.
    pub fn new(name: impl Into<Arc<str>>, model: impl Into<DynModel<Completion>>) -> Self {
        let compactor = Self {
            model: model.into(),
            name: name.into(),
            prompt: "".into(),
            version: "".into(),
            price: CompactorPrice::SAME_MODEL,
        };
        compactor.prompt(SUMMARY_PROMPT)
    }

    /// Sets the instructions of the model. `{limit}` in them stands for the limit in tokens.
    pub fn prompt(mut self, prompt: impl Into<Arc<str>>) -> Self {
        self.prompt = prompt.into();
        self.version = compactor_version(&[&self.name, &self.prompt]).into();
        self
    }

    /// Sets the price of the model's tokens; that of [the conversation's model](CompactorPrice::SAME_MODEL)
    /// unless set.
    pub fn price(mut self, price: CompactorPrice) -> Self {
        self.price = price;
        self
    }
}

#[async_trait]
impl Compactor for ModelCompactor {
    async fn compact(&self, cell: &CellContent, limit: i64) -> Result<String, BoxError> {
        let request = CompletionRequest::new(cell.prompt(&self.prompt, limit));
        Ok(self.model.call(request).await?.text())
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn price(&self) -> CompactorPrice {
        self.price
    }
}

impl fmt::Debug for ModelCompactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelCompactor").field("name", &self.name).finish_non_exhaustive()
    }
}

/// One of rig's compactors as one of this library.
///
/// It is called in the background with the texts of one cell, and never with a summary of earlier ones. The
/// artifact's text is the summary.
#[derive(Clone)]
#[must_use]
pub struct RigCompactor<C> {
    compactor: C,
    name: Arc<str>,
    version: Arc<str>,
    price: CompactorPrice,
}

impl<C: memory::Compactor> RigCompactor<C> {
    /// A compactor of rig's. Name and version are part of the keys of summaries.
    pub fn new(name: impl Into<Arc<str>>, version: impl Into<Arc<str>>, compactor: C) -> Self {
        let price = CompactorPrice::SAME_MODEL;
        Self { compactor, name: name.into(), version: version.into(), price }
    }

    /// Sets the price of its tokens.
    pub fn price(mut self, price: CompactorPrice) -> Self {
        self.price = price;
        self
    }
}

#[async_trait]
impl<C: memory::Compactor> Compactor for RigCompactor<C> {
    async fn compact(&self, cell: &CellContent, _: i64) -> Result<String, BoxError> {
        let id = ConversationId::new(cell.conversation.as_deref().unwrap_or_default());
        let messages = rig_messages(cell);
        let artifact = self.compactor.compact(&id, &messages, None).await?;
        Ok(text_of(&artifact.into()))
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn price(&self) -> CompactorPrice {
        self.price
    }
}

impl<C> fmt::Debug for RigCompactor<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RigCompactor").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The texts of a cell as rig's messages.
fn rig_messages(cell: &CellContent) -> Vec<Message> {
    let spoken = cell.messages.iter().filter(|message| !message.text.trim().is_empty());
    let message = |message: &CellMessage| match message.role {
        Role::Assistant => Message::assistant(&message.text),
        _ => Message::user(&message.text),
    };
    spoken.map(message).collect()
}

/// A compactor of this library as one of rig's. As rig demands, it runs inline, so the turn waits for it.
///
/// Each summary is made of the original messages. The artifact carries the summaries before it as they are,
/// the newest ones up to a limit: there is never a summary of a summary.
#[derive(Debug, Clone)]
#[must_use]
pub struct MemoryCompactor<C> {
    compactor: C,
    limit: i64,
    most: usize,
}

impl<C: Compactor> MemoryCompactor<C> {
    /// Summaries of at most so many tokens each. The artifact carries the newest four.
    pub fn new(compactor: C, limit: i64) -> Self {
        Self { compactor, limit, most: 4 }
    }

    /// Sets the number of summaries that the artifact carries; 4 unless set.
    pub fn most(mut self, summaries: usize) -> Self {
        self.most = summaries.max(1);
        self
    }
}

/// Summaries of what left a memory's window, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryArtifact {
    texts: Vec<Arc<str>>,
}

impl SummaryArtifact {
    /// The texts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|text| &**text)
    }
}

impl From<SummaryArtifact> for Message {
    fn from(artifact: SummaryArtifact) -> Self {
        // Quoted as a tool's result is: it has no more authority than the least trusted text in it.
        let messages = artifact.texts().map(|text| CellMessage::new(Role::Tool, text, 0));
        Self::user(CellContent::new(messages.collect()).quoted())
    }
}

impl<C: Compactor> memory::Compactor for MemoryCompactor<C> {
    type Artifact = SummaryArtifact;

    fn compact<'a>(
        &'a self,
        conversation_id: &'a ConversationId,
        evicted: &'a [Message],
        carry_over: Option<&'a SummaryArtifact>,
    ) -> WasmBoxedFuture<'a, Result<SummaryArtifact, MemoryError>> {
        Box::pin(async move {
            let cell = cell_of(conversation_id, evicted);
            let text = self.compactor.compact(&cell, self.limit).await;
            let text = text.map_err(MemoryError::backend)?;
            let mut texts = carry_over.map_or_else(Vec::new, |before| before.texts.clone());
            if HeuristicCounter.count(&text) <= self.limit.saturating_mul(2)
                && !text.trim().is_empty()
            {
                texts.push(text.trim().into());
            }
            let older = texts.len().saturating_sub(self.most);
            texts.drain(..older);
            Ok(SummaryArtifact { texts })
        })
    }
}

/// rig's messages as a cell.
fn cell_of(conversation: &ConversationId, messages: &[Message]) -> CellContent {
    let message = |message: &Message| {
        let text = text_of(message);
        let role = match message {
            Message::System { .. } => Role::System,
            Message::User { .. } if has_results(message) => Role::Tool,
            Message::User { .. } => Role::User,
            Message::Assistant(_) => Role::Assistant,
        };
        let tokens = HeuristicCounter.count(&text);
        CellMessage::new(role, text, tokens)
    };
    CellContent::new(messages.iter().map(message).collect()).conversation(conversation.as_ref())
}

/// A compactor that hands the texts of each cell over to rig's [`DemotionHook`] before it makes the summary:
/// for a store that keeps what leaves the window.
///
/// A cell is handed over once for all replicas, as often as its summary is made. An error of the hook is one
/// of the compactor.
#[derive(Debug, Clone)]
#[must_use]
pub struct DemotionCompactor<C, H> {
    compactor: C,
    hook: H,
}

impl<C: Compactor, H: DemotionHook> DemotionCompactor<C, H> {
    /// This compactor, behind this hook.
    pub fn new(compactor: C, hook: H) -> Self {
        Self { compactor, hook }
    }
}

#[async_trait]
impl<C: Compactor, H: DemotionHook> Compactor for DemotionCompactor<C, H> {
    async fn compact(&self, cell: &CellContent, limit: i64) -> Result<String, BoxError> {
        let id = ConversationId::new(cell.conversation.as_deref().unwrap_or_default());
        self.hook.on_demote(&id, rig_messages(cell)).await?;
        self.compactor.compact(cell, limit).await
    }

    fn name(&self) -> &str {
        self.compactor.name()
    }

    fn version(&self) -> &str {
        self.compactor.version()
    }

    fn price(&self) -> CompactorPrice {
        self.compactor.price()
    }
}
