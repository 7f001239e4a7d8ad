//! How candidates come out of a rig request and go back in.

mod ahead;
mod count;
mod fixed;
mod horizon;
mod media;
mod message;
mod needs;
mod plan;
mod rest;
mod result;
mod text;
mod words;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use chrono::DateTime;
use cupel::conversation::plan::{Planned, Quotation, Turn};
use cupel::conversation::{self, Answers, Attributes, Conversation, Exchanges, Role, Rules};
use cupel::gather::BoxError;
use cupel::layer::{ContextAdapter, Placed, Refused, Split};
use cupel::tokens::{TokenCounter, load_in_background};
use cupel::{ContextItem, ContextKind, ContextSource, CupelError};
use futures::future::BoxFuture;
use rig_core::catalog::Catalog;
use rig_core::completion::{CompletionRequest, Document};
use rig_core::message::Message;

use crate::CompletionCall;
use crate::document::{document_of, quoted_text};
use crate::models::{CatalogModels, ModelId, ModelWindow};
use count::Count;
use horizon::{Horizon, InSight};
pub use media::MediaTokens;
use rest::OwnDocument;
pub use rest::Rest;

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
///   the layer's sources follow as documents, in the placer's order. A plan quotes what sources give,
///   and documents of a request that does not fit as it came, unless they are pinned.
/// - **Everything else** is counted and not touched: tools, an output schema, provider tools.
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

    /// Looks models up in another catalog than the one rig ships.
    #[must_use]
    pub fn catalog(mut self, catalog: Catalog) -> Self {
        self.models.catalog = Some(Arc::new(catalog));
        self
    }

    /// The budget by the window of the request's model, less what it may write; for Claude's models with
    /// a safety margin of 10 % (15 % without feature `tiktoken`), since their tokens can only be
    /// [estimated](cupel::tokens::ClaudeTokenizer).
    pub fn window(&self) -> ModelWindow {
        ModelWindow::new(self.models.clone())
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
    /// [`StartMoved`](cupel::conversation::plan::Broke::StartMoved).
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
        in_sight.read.push(conversation::Message::new(Role::User, "", 0));
        // What is remembered is older than anything that is said today, unless it has a date.
        let rules = self.rules.clone().newest(DateTime::UNIX_EPOCH).exchanges(Exchanges::Whole);
        let conversation = conversation(messages, &in_sight, &rules, usize::MAX);
        let mut units = conversation?.take_candidates();
        units.pop();
        Ok(units)
    }

    /// Takes the candidates out of a call, for a plan or without one.
    fn take_apart<R: CompletionCall>(
        &self,
        mut call: R,
        planned: bool,
    ) -> Result<Split<Rest<R>>, BoxError> {
        let mut count = self.count(Some(call.completion()));
        let prices = self.models.tool_prices(call.completion());
        let fixed_tokens = fixed::tokens(call.completion(), prices, &mut count);
        let uncounted = fixed::uncounted(call.completion());
        let rules = match planned {
            // A plan leaves no holes, so nothing has to be kept together that the API does not.
            true => self.rules.clone().exchanges(Exchanges::Apart),
            false => self.rules.clone(),
        };
        let user_first =
            self.user_first.unwrap_or_else(|| self.models.user_first(call.completion()));
        let rules = rules.user_first(user_first);
        let request = call.completion_mut();
        let mut messages = std::mem::take(&mut request.chat_history);
        let documents = std::mem::take(&mut request.documents);

        let mut refused = words::without_broken_results(&mut messages, &mut count)?;
        let mut read = |message: &Message| self.read(message, &mut count);
        let mut in_sight = match self.horizon {
            None => InSight::all(&messages, &mut read),
            Some(tokens) if planned => {
                InSight::back_to(Horizon::held(tokens), &messages, &mut read)
            }
            Some(tokens) => InSight::back_to(Horizon::new(tokens), &messages, &mut read),
        };
        let mut moved = false;
        if planned {
            if let Some(tokens) = self.horizon {
                moved = in_sight.has_moved(Horizon::held(tokens), &messages, &mut read);
            }
            let positions = in_sight.positions.iter();
            let seen: Vec<&Message> = positions.filter_map(|at| messages.get(*at)).collect();
            needs::note(&mut in_sight.read, &seen);
        }
        let question = conversation::question(&in_sight.read, |index, text| {
            let position = in_sight.positions.get(index);
            if let Some(message) = position.and_then(|position| messages.get(*position)) {
                text::write(message, usize::MAX, text);
            }
        });
        let mut conversation = conversation(&messages, &in_sight, &rules, self.report_text)?;
        let mut candidates = conversation.take_candidates();
        refused.extend(conversation.take_refused());
        if let (true, Some(first)) = (candidates.is_empty(), refused.first()) {
            let problem = format!("no message can be sent; the first: {}", first.why);
            return Err(problem.into());
        }
        let sum = |items: &[ContextItem]| {
            items.iter().map(ContextItem::tokens).fold(0, i64::saturating_add)
        };
        let tokens = sum(&candidates);
        let is_models = |unit: &usize| {
            let first = conversation.messages_of(*unit).first();
            let first = first.and_then(|first| in_sight.read.get(*first));
            first.is_some_and(|first| first.role == Role::Assistant)
        };
        let known = (0..candidates.len()).rev().find(is_models);
        let tokens_before = known.and_then(|known| candidates.get(..known)).map(sum);
        let mut own = Vec::with_capacity(documents.len());
        for document in documents {
            let item = self.document_item(&document, &count)?;
            let (tokens, pinned) = (item.tokens(), item.pinned());
            own.push(OwnDocument { document, tokens, pinned, quoted: false });
            candidates.push(item);
        }
        let positions = in_sight.positions;
        refused.extend(out_of_sight(messages.len() - positions.len())?);
        let documents = own;
        let rest = Rest {
            call,
            messages,
            positions,
            moved,
            documents,
            conversation,
            quotation: None,
            tokens,
            tokens_before,
            count,
        };
        let mut split = Split::new(candidates, fixed_tokens, rest);
        split.refused = refused;
        split.uncounted = uncounted;
        split.question = question;
        Ok(split)
    }

    /// Counts a request's parts, or those of a conversation on its own.
    fn count(&self, request: Option<&CompletionRequest>) -> Count {
        let claude = self.models.claude(request);
        let media = self.media_for(request);
        let tools = request.is_none_or(fixed::has_tools);
        Count::new(self.counter_for(request), claude, media, tools)
    }

    fn media_for(&self, request: Option<&CompletionRequest>) -> MediaTokens {
        self.media.unwrap_or_else(|| MediaTokens::of(self.models.claude(request)))
    }

    fn counter_for(&self, request: Option<&CompletionRequest>) -> Arc<dyn TokenCounter> {
        match &self.counter {
            Some(counter) => Arc::clone(counter),
            None => self.models.counter(request),
        }
    }

    #[inline]
    fn read(&self, message: &Message, count: &mut Count) -> conversation::Message {
        let read = message::read(message, count);
        match &self.message_attributes {
            Some(attributes) => read.attributes(attributes(message)),
            None => read,
        }
    }

    fn document_item(&self, document: &Document, count: &Count) -> Result<ContextItem, CupelError> {
        let rendered = document.to_string();
        let tokens = count.document(&rendered);
        let attributes = self.document_attributes.as_ref();
        let attributes = attributes.map_or_else(Attributes::new, |of| of(document));
        let item = attributes.item(rendered, tokens);
        item.kind(ContextKind::document()).source(ContextSource::rag()).build()
    }
}

fn conversation(
    messages: &[Message],
    in_sight: &InSight,
    rules: &Rules,
    text_limit: usize,
) -> Result<Conversation, CupelError> {
    let write = |index: usize, content: &mut String| {
        let position = in_sight.positions.get(index);
        if let Some(message) = position.and_then(|position| messages.get(*position)) {
            text::write(message, text_limit, content);
        }
    };
    Conversation::with_texts(&in_sight.read, rules, write)
}

/// The messages beyond the horizon, in one line of the report; nobody has counted their tokens.
fn out_of_sight(messages: usize) -> Result<Option<Refused>, CupelError> {
    if messages == 0 {
        return Ok(None);
    }
    let item = ContextItem::new(format!("{messages} older messages"), 0)?;
    Ok(Some(Refused { item, why: "horizon".to_owned() }))
}

impl<R: CompletionCall> ContextAdapter<R> for RigAdapter {
    type Rest = Rest<R>;

    fn model<'a>(&'a self, call: &'a R) -> Option<&'a str> {
        Some(self.models.name(Some(call.completion()))).filter(|name| !name.is_empty())
    }

    /// Begins to load the encoding of the model that is known already.
    fn built(&self) {
        load_in_background(self.counter_for(None));
    }

    fn before_split(&self, call: &R) -> Option<BoxFuture<'static, ()>> {
        let request = call.completion();
        let (counter, media) = (self.counter_for(Some(request)), self.media_for(Some(request)));
        ahead::of(request, counter, media).start()
    }

    fn split(&self, call: R) -> Result<Split<Rest<R>>, BoxError> {
        self.take_apart(call, false)
    }

    fn split_to_plan(&self, call: R) -> Result<Split<Rest<R>>, BoxError> {
        self.take_apart(call, true)
    }

    fn plan(&self, rest: &mut Rest<R>, turn: &Turn<'_>) -> Option<Planned> {
        rest.plan(turn)
    }

    fn quote(&self, rest: &mut Rest<R>, placed: &[Placed]) -> Option<i64> {
        Some(rest.quote(placed))
    }

    fn join(&self, rest: Rest<R>, placed: Vec<Placed>) -> Result<R, BoxError> {
        Ok(rest.join(placed))
    }

    fn withdrawn(&self, rest: &Rest<R>, placed: &[Placed]) -> Vec<(usize, String)> {
        rest.conversation.withdrawn(placed)
    }

    fn text<'a>(
        &'a self,
        rest: &'a Rest<R>,
        index: usize,
        _: &'a ContextItem,
    ) -> Option<Cow<'a, str>> {
        let members = rest.conversation.messages_of(index);
        let mut text = String::new();
        for position in members.iter().filter_map(|member| rest.positions.get(*member)) {
            if !text.is_empty() {
                text.push('\n');
            }
            if let Some(message) = rest.messages.get(*position) {
                text::write(message, usize::MAX, &mut text);
            }
        }
        // A document is its own text.
        (!members.is_empty()).then_some(Cow::Owned(text))
    }

    fn source_item_tokens(&self, rest: &Rest<R>, item: &ContextItem) -> i64 {
        rest.count.document(&document_of(item).to_string())
    }

    fn quoted_tokens(&self, rest: &Rest<R>, source: &str, item: &ContextItem) -> i64 {
        let text = quoted_text(&document_of(item)).into_owned();
        Quotation::source_tokens(source, &text, rest.count.counter())
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
