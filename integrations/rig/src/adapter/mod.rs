//! Candidates out of a rig request, and back in.

mod count;
mod horizon;
mod media;
mod message;
mod reading_time;
mod rest;
mod results;
mod texts;
mod tools;

use std::fmt;
use std::sync::Arc;

use chrono::DateTime;
use cupel::conversation::{
    self, Answers, Attributes, Conversation, Exchanges, PartTokens, QuotableDocument, Role, Rules,
    Texts,
};
use cupel::gather::BoxError;
use cupel::layer::{ContextAdapter, Edits, RefusedItem, RequestFacts, Split, Strategy};
use cupel::tokens::{TokenCounter, load_in_background};
use cupel::{ContextItem, ContextKind, ContextSource, CupelError};
use rig_core::catalog::Catalog;
use rig_core::completion::history::NO_TOOL_OUTPUT;
use rig_core::completion::{CompletionRequest, Document};
use rig_core::message::Message;

use crate::CompletionCall;
use crate::document::{quoted_text, source_document};
use crate::models::{CatalogModels, CatalogWindow, ModelId};
use count::TokenCounts;
use horizon::{Horizon, InSight};
pub use media::MediaTokens;
pub use rest::RigRest;

/// Takes the messages and documents of a completion request as candidates, and puts the selected
/// ones back.
///
/// - **Messages** of the model move; they are never rebuilt, so what a provider signed stays signed.
///   All keep their order, whatever the placer says.
/// - **A [plan](cupel::conversation::plan)**, which `Policy::chat` and `Policy::tool_use` have, decides
///   what is sent: the newest messages without holes, long results as excerpts, and what is recalled as
///   the first part of the user's last message.
/// - **Without one** candidates are scored. The question and the answer of an exchange that is over are
///   one; each assistant message with tool calls is one with the results that answer it, and steps of
///   an exchange that is over are sent only with its question.
/// - **System text, the user's last message and the last entry of the history** are always sent.
/// - **Tool calls without results and results without calls** are left out, with the reason in the
///   report.
/// - **Documents** are candidates too: those of the request keep their order, and the items of
///   the layer's sources follow in one document, quoted, in the placer's order. A plan quotes
///   them in the user's last message. If the request does not fit, it quotes the request's own documents
///   too, unless they are pinned.
/// - **[Tools](cupel::tool_choice)** are sent as they are if the request fits. Otherwise those that the
///   questions need are, if the definitions take more than a share of the window.
/// - **Everything else** is counted and not touched: an output schema, provider tools.
///
/// Counts are those of the model's own encoding where it is known, and estimates otherwise; of Claude's
/// models in [Anthropic's format](cupel::tokens::FormatOverhead::CLAUDE).
///
/// ```
/// use cupel::conversation::Attributes;
/// use cupel_rig::RigAdapter;
/// use rig_core::message::Message;
///
/// let adapter = RigAdapter::for_model("gpt-4o").message_attributes(|message| match message {
///     Message::Assistant(_) => Attributes::new().priority(1),
///     _ => Attributes::new(),
/// });
/// # let _ = adapter;
/// ```
#[derive(Clone)]
pub struct RigAdapter {
    models: CatalogModels,
    counter: Option<Arc<dyn TokenCounter>>,
    media: Option<MediaTokens>,
    rules: Rules,
    report_text: usize,
    horizon: Option<i64>,
    user_first: Option<bool>,
    message_attributes: Option<AttributesOf<Message>>,
    document_attributes: Option<AttributesOf<Document>>,
}

type AttributesOf<T> = Arc<dyn Fn(&T) -> Attributes + Send + Sync>;

/// A line of a terminal.
const REPORT_TEXT: usize = 80;

impl RigAdapter {
    /// Counts as the model counts that a request names; estimates for other models and for
    /// requests that name none.
    #[must_use]
    pub fn new() -> Self {
        Self::for_model(ModelId::default())
    }

    /// Counts as this model counts, and knows its [`window`](Self::window), unless a request names
    /// another model of the same provider.
    ///
    /// The model is a rig model, typed or erased, or a name in rig's catalog, `vendor/model`.
    #[must_use]
    pub fn for_model(model: impl Into<ModelId>) -> Self {
        Self {
            models: CatalogModels { model: model.into(), catalog: None },
            counter: None,
            media: None,
            rules: Rules::new().answers(Answers::NextPastSystem).exchanges(Exchanges::StepsApart),
            report_text: REPORT_TEXT,
            horizon: None,
            user_first: None,
            message_attributes: None,
            document_attributes: None,
        }
    }

    /// Begins to load the vocabulary of the model now, on a thread of its own, so that the first call does
    /// not have to wait for it. Call it last: another counter may have nothing to load.
    ///
    /// Without this the first call for a model loads it (about 10 ms; less than a second in a debug build), on Tokio's
    /// blocking pool. Requests with a text of 64 KiB or more are read there too: other tasks go on, and
    /// a time-out around the call fires in time.
    #[must_use]
    pub fn preload(self) -> Self {
        load_in_background(self.counter_for(None));
        self
    }

    /// Looks models up in another catalog than the one rig ships.
    #[must_use]
    pub fn catalog(mut self, catalog: Catalog) -> Self {
        self.models.catalog = Some(Arc::new(catalog));
        self
    }

    /// The budget by the window of the request's model, less what it may write; for Claude's models with
    /// a safety margin of 10 % (15 % without feature `tiktoken`), since their tokens can only be
    /// [estimated](cupel::tokens::ClaudeTokenizer).
    pub fn window(&self) -> CatalogWindow {
        CatalogWindow::new(self.models.clone())
    }

    /// Counts with this counter, whatever the model. Cache it if it is slow:
    /// [`CachedCounter`](cupel::tokens::CachedCounter).
    #[must_use]
    pub fn counter(mut self, counter: impl TokenCounter + 'static) -> Self {
        self.counter = Some(Arc::new(counter));
        self
    }

    /// Sets what media are counted as.
    #[must_use]
    pub fn media(mut self, media: MediaTokens) -> Self {
        self.media = Some(media);
        self
    }

    /// Changes the rules of the conversation, setting by setting. Where answers to calls may stand
    /// is rig's business and stays as it is. With exchanges [apart](Exchanges::Apart), two answers may
    /// come to stand in a row, and rig has to repair what is sent.
    ///
    /// ```
    /// use cupel_rig::RigAdapter;
    ///
    /// let adapter = RigAdapter::new().rules(|rules| rules.pin_latest(false));
    /// # let _ = adapter;
    /// ```
    #[must_use]
    pub fn rules(mut self, change: impl FnOnce(Rules) -> Rules) -> Self {
        self.rules = change(self.rules).answers(Answers::NextPastSystem);
        self
    }

    /// Looks back over so many tokens of messages and no further; over all of them unless set.
    ///
    /// Every turn looks at the whole history. Where only recent messages have a chance anyway, a
    /// horizon of about the budget makes the cost of a turn depend on the window instead of on the
    /// length of the history. Exchanges are looked at whole; instructions and the question that is
    /// being answered are found however far back they are. The report says in one line how many
    /// messages were not looked at.
    ///
    /// What a plan keeps is counted from where the view begins, so a planned turn may look back a
    /// quarter further, to begin where the turn before did. When it cannot, its report says
    /// [`StartMoved`](cupel::conversation::plan::PrefixBreak::StartMoved).
    #[must_use]
    pub fn horizon(mut self, tokens: i64) -> Self {
        self.horizon = Some(tokens);
        self
    }

    /// Sets whether what a [plan](cupel::conversation::plan) keeps of a history has to begin with a
    /// user's message; it has to for all models but OpenAI's unless set.
    ///
    /// Anthropic's API refuses a conversation that begins with the model, and so do the templates of
    /// many open models. Where it may begin anywhere, a plan can cut closer to the window.
    #[must_use]
    pub fn user_first(mut self, enabled: bool) -> Self {
        self.user_first = Some(enabled);
        self
    }

    /// Sets how many bytes of a message the selection sees and the report shows; 80 unless set.
    ///
    /// A history can hold megabytes of tool results, and each turn would copy them all. To judge a
    /// message by its text, use [`message_attributes`](Self::message_attributes), which sees the
    /// message itself; set `usize::MAX` here for a scorer of your own that reads contents.
    #[must_use]
    pub fn report_text(mut self, bytes: usize) -> Self {
        self.report_text = bytes;
        self
    }

    /// Asks a function what each message is worth.
    #[must_use]
    pub fn message_attributes(
        mut self,
        attributes: impl Fn(&Message) -> Attributes + Send + Sync + 'static,
    ) -> Self {
        self.message_attributes = Some(Arc::new(attributes));
        self
    }

    /// Asks a function what each document of the request is worth; one without a relevance of its
    /// own scores nothing with [`ReflexiveScorer`](cupel::ReflexiveScorer).
    #[must_use]
    pub fn document_attributes(
        mut self,
        attributes: impl Fn(&Document) -> Attributes + Send + Sync + 'static,
    ) -> Self {
        self.document_attributes = Some(Arc::new(attributes));
        self
    }

    /// The units of a conversation on its own, with all their texts, and without those that no
    /// API would take.
    pub(crate) fn units(&self, messages: &[Message]) -> Result<Vec<ContextItem>, BoxError> {
        let mut count = self.count(None);
        let mut in_sight = InSight::all(messages, |message| self.read(message, &mut count));
        // Whatever comes next, the last exchange is over.
        in_sight.read.push(conversation::Message::new(Role::User, "next", 0));
        // What is remembered is older than anything that is said today, unless it has a date.
        let rules = self.rules.clone().newest(DateTime::UNIX_EPOCH).exchanges(Exchanges::Whole);
        let (_, mut conversation) = conversation(messages, in_sight, &rules, usize::MAX)?;
        let mut units = conversation.take_candidates();
        units.pop();
        Ok(units)
    }

    /// Counts a request's parts, or those of a conversation on its own.
    fn count(&self, request: Option<&CompletionRequest>) -> TokenCounts {
        let claude = self.models.claude(request);
        let media = self.media.unwrap_or_else(|| MediaTokens::of(claude));
        let tools = request.is_none_or(count::has_tools);
        TokenCounts::new(self.counter_for(request), claude, media, tools)
    }

    fn counter_for(&self, request: Option<&CompletionRequest>) -> Arc<dyn TokenCounter> {
        self.counter.clone().unwrap_or_else(|| self.models.counter(request))
    }

    #[inline]
    fn read(&self, message: &Message, count: &mut TokenCounts) -> conversation::Message {
        let read = message::read(message, count);
        match &self.message_attributes {
            Some(attributes) => read.attributes(attributes(message)),
            None => read,
        }
    }

    fn document(
        &self,
        document: &Document,
        count: &TokenCounts,
    ) -> Result<QuotableDocument, CupelError> {
        let rendered = document.to_string();
        let tokens = count.document(&rendered);
        let attributes = self.document_attributes.as_ref();
        let attributes = attributes.map_or_else(Attributes::new, |of| of(document));
        let item = attributes.item(rendered, tokens);
        let item = item.kind(ContextKind::document()).source(ContextSource::rag()).build()?;
        Ok(QuotableDocument::new(item, quoted_text(document)))
    }
}

/// The messages in sight as a conversation, and their positions.
fn conversation(
    messages: &[Message],
    InSight { positions, read }: InSight,
    rules: &Rules,
    text_limit: usize,
) -> Result<(Vec<usize>, Conversation), CupelError> {
    let conversation = Conversation::with_texts(read, rules, |index, _, content| {
        let position = positions.get(index);
        if let Some(message) = position.and_then(|position| messages.get(*position)) {
            texts::write(message, text_limit, content);
        }
    })?;
    Ok((positions, conversation))
}

impl<R: CompletionCall> ContextAdapter<R> for RigAdapter {
    type Rest = RigRest<R>;

    fn facts<'a>(&'a self, call: &'a R) -> RequestFacts<'a> {
        let request = call.completion();
        let model = Some(self.models.name(Some(request))).filter(|name| !name.is_empty());
        RequestFacts::new(model).steps(match self.counter_for(Some(request)).is_ready() {
            true => reading_time::nanoseconds(request, self.horizon),
            false => u64::MAX,
        })
    }

    fn split(&self, mut call: R, strategy: Strategy) -> Result<Split<RigRest<R>>, BoxError> {
        let planned = strategy == Strategy::Planned;
        let request = call.completion();
        let mut count = self.count(Some(request));
        let tools = tools::offer(request, &mut count, self.models.tool_prices(request));
        let fixed_tokens = count.fixed(request, self.models.tool_prices(request), tools.tokens());
        let uncounted = count::uncounted(request);
        let fixed_identity = count::fixed_identity(request, self.models.name(Some(request)));
        let user_first = self.user_first.unwrap_or_else(|| self.models.user_first(request));
        let mut rules = self.rules.clone().user_first(user_first);
        if planned {
            // A plan leaves no holes, so nothing has to be kept together that the API does not.
            rules = rules.exchanges(Exchanges::Apart);
        }
        let request = call.completion_mut();
        let mut messages = std::mem::take(&mut request.chat_history);
        let documents = std::mem::take(&mut request.documents);

        let mut refused = results::without_broken(&mut messages, &mut count)?;
        let mut read = |message: &Message| self.read(message, &mut count);
        let horizon = self.horizon.map(if planned { Horizon::held } else { Horizon::new });
        let mut in_sight = match horizon {
            None => InSight::all(&messages, &mut read),
            Some(horizon) => InSight::back_to(horizon, &messages, &mut read),
        };
        let mut moved = false;
        if planned {
            moved = horizon.is_some_and(|horizon| in_sight.has_moved(horizon, &messages, read));
            let seen = in_sight.positions.iter().filter_map(|position| messages.get(*position));
            message::note_needs(&mut in_sight.read, &seen.collect::<Vec<_>>());
        }
        let (positions, conversation) =
            conversation(&messages, in_sight, &rules, self.report_text)?;
        let quotable = documents.iter().map(|document| self.document(document, &count));
        let conversation = conversation
            .counter(count.counter())
            .part_tokens(PartTokens::Beside(count.part(Role::User)))
            .documents(quotable.collect::<Result<_, _>>()?)
            .start_moved(moved)
            .empty_result(NO_TOOL_OUTPUT)
            .fixed_identity(fixed_identity);
        let unseen = messages.len() - positions.len();
        let source_frame_tokens = count.document(&source_document("").to_string());
        let rest = RigRest { call, messages, positions, documents, planned };
        let mut split = Split::conversation(conversation, fixed_tokens, rest)?;
        refused.append(&mut split.refused);
        if unseen > 0 {
            // One line of the report; nobody has counted their tokens.
            let item = ContextItem::new(format!("{unseen} older messages"), 0)?;
            refused.push(RefusedItem { item, why: "horizon".to_owned() });
        }
        split.refused = refused;
        split.uncounted = uncounted;
        split.tools = tools;
        split.source_frame_tokens = source_frame_tokens;
        Ok(split)
    }

    fn join(&self, rest: RigRest<R>, edits: &mut Edits) -> Result<R, BoxError> {
        Ok(rest.join(edits))
    }

    fn texts<'a>(&'a self, rest: &'a RigRest<R>) -> Box<dyn Texts + 'a> {
        Box::new(rest)
    }
}

impl Default for RigAdapter {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for RigAdapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RigAdapter")
            .field("models", &self.models)
            .field("counter", &self.counter)
            .field("media", &self.media)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

/// All of a message's text.
pub(crate) fn text_of(message: &Message) -> String {
    let mut text = String::new();
    texts::write(message, usize::MAX, &mut text);
    text
}

/// Returns true if results of tools are in a message.
pub(crate) fn has_results(message: &Message) -> bool {
    results::of(message).next().is_some()
}
