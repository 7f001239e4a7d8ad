//! Messages to candidates and back.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use cupel::ContextItem;
use cupel::conversation::plan::{Planned, Quotation, Turn};
use cupel::conversation::{
    Answers, Arranged, Attributes, Conversation, Message, Role, Rules, bare_text, question,
};
use cupel::gather::BoxError;
use cupel::layer::{ContextAdapter, CountAhead, Placed, Split};
use cupel::tokens::{Encoding, TokenCounter, load_in_background, shared_counter};
use futures::future::BoxFuture;

use crate::breakpoints::{Markable, has_own_options};
use crate::count::{Meter, note_long_texts};
use crate::models::{CacheRule, Models};
use crate::read::{Endpoint, Head, MessageView};
use crate::request::{Edit, Parts, Piece, Request};
use crate::template::{ContextPosition, ContextTemplate};
use crate::texts::RequestTexts;
use crate::window::ModelWindow;

/// The adapter for all [requests](Request) of both APIs, typed and raw.
///
/// Each message is a candidate, or several that only make sense together: an assistant message
/// with tool calls and the answers to them, reasoning with what the model went on to write. What it
/// wrote after the result of a call is sent only with the reasoning before it.
/// System and developer messages, the last user message and the newest unit are pinned. What the
/// API would refuse is left out and reported. Messages keep their order. They are edited only where a
/// [plan](cupel::conversation::plan), which `Policy::chat` has, puts an excerpt in the place of a long
/// result, and in the user's last message, whose first part becomes what is recalled and what sources
/// give; for models whose prompt cache [needs them](crate::CacheRule::Breakpoints), some also get
/// breakpoints.
///
/// ```
/// use cupel::Policy;
/// use cupel::conversation::Attributes;
/// use cupel::layer::CupelLayer;
/// use cupel_json::{JsonBody, OpenAiAdapter};
///
/// let adapter = OpenAiAdapter::new()
///     .attributes(|message| match message.name() {
///         Some("reviewer") => Attributes::new().priority(10).tag("review"),
///         _ => Attributes::new(),
///     });
/// let layer = CupelLayer::<JsonBody, _>::builder()
///     .budget(adapter.window().default_output(1_000))
///     .adapter(adapter)
///     .policy(Policy::chat())
///     .build()?;
/// # let _ = layer;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct OpenAiAdapter {
    models: Models,
    counter: Option<Arc<dyn TokenCounter>>,
    template: ContextTemplate,
    attributes: Option<Hook>,
    rules: Rules,
    cache: Option<CacheRule>,
}

type Hook = Arc<dyn Fn(&MessageView<'_>) -> Attributes + Send + Sync>;

impl OpenAiAdapter {
    /// Exact counts by the request's model, remembered from turn to turn; everything else by
    /// default.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins to load an encoding now, on a thread of its own, so that the first call does not have to
    /// wait for it.
    ///
    /// Without this the first call for a model of that encoding loads it (about 0.1 s; seconds in a
    /// debug build). It does so on Tokio's blocking pool, as it counts texts of 64 KiB or more among
    /// the newest 16 messages: other tasks go on, and a time-out around the call fires in time.
    #[must_use]
    pub fn preload(self, encoding: Encoding) -> Self {
        load_in_background(shared_counter(encoding));
        self
    }

    /// Sets the models that are known.
    #[must_use]
    pub fn models(mut self, models: Models) -> Self {
        self.models = models;
        self
    }

    /// Counts text with this counter instead of the model's own encoding.
    ///
    /// The same texts come again on every turn: wrap it in a
    /// [`CachedCounter`](cupel::tokens::CachedCounter).
    #[must_use]
    pub fn counter(mut self, counter: impl TokenCounter + 'static) -> Self {
        self.counter = Some(Arc::new(counter));
        self
    }

    /// Sets how what sources gave is written.
    #[must_use]
    pub fn template(mut self, template: ContextTemplate) -> Self {
        self.template = template;
        self
    }

    /// Sets a function that says what a message is worth: its priority, tags, relevance, real
    /// timestamp, and whether it is pinned.
    #[must_use]
    pub fn attributes(
        mut self,
        hook: impl Fn(&MessageView<'_>) -> Attributes + Send + Sync + 'static,
    ) -> Self {
        self.attributes = Some(Arc::new(hook));
        self
    }

    /// Changes what is pinned and how messages are dated, setting by setting. Where answers to
    /// calls may stand is the API's business and stays as it is.
    ///
    /// ```
    /// use cupel_json::OpenAiAdapter;
    ///
    /// let adapter = OpenAiAdapter::new().rules(|rules| rules.pin_latest(false));
    /// # let _ = adapter;
    /// ```
    #[must_use]
    pub fn rules(mut self, change: impl FnOnce(Rules) -> Rules) -> Self {
        self.rules = change(self.rules);
        self
    }

    /// Sets how the prompt cache of every model finds what it has seen, whatever the
    /// [models](Models) say: [`CacheRule::Prefix`] for a server that knows no breakpoints.
    #[must_use]
    pub fn cache(mut self, rule: CacheRule) -> Self {
        self.cache = Some(rule);
        self
    }

    /// The budget by the models this adapter knows.
    pub fn window(&self) -> ModelWindow {
        ModelWindow::new(self.models.clone())
    }
}

impl OpenAiAdapter {
    /// Puts what was selected in order, and says which messages the plan changes.
    fn arrange<R: Parts>(
        &self,
        rest: &mut Rest<R>,
        placed: Vec<Placed>,
    ) -> (Arranged, BTreeMap<usize, Edit>) {
        // Whoever calls `join` alone has not had it written.
        let quotation = rest.quotation.take().or_else(|| self.quotation(rest, &placed));
        let mut arranged = rest.conversation.arrange(placed);
        let mut edits: BTreeMap<usize, Edit> = BTreeMap::new();
        if let Some(planned) = rest.conversation.planned() {
            for ((message, _), excerpt) in &planned.excerpts {
                edits.entry(*message).or_default().excerpt = Some(excerpt.text.clone());
            }
            if let Some(question) = planned.question {
                if quotation.is_some() {
                    edits.entry(question).or_default().quotation = quotation;
                }
                arranged.retrieved.clear();
            }
            if !planned.whole {
                let places = rest.markable.places(&rest.read, &arranged.kept);
                for at in places.all().filter_map(|at| arranged.kept.get(at)) {
                    edits.entry(*at).or_default().breakpoint = true;
                }
            }
        }
        (arranged, edits)
    }

    /// What is recalled of a selection.
    fn quotation<R: Parts>(&self, rest: &Rest<R>, placed: &[Placed]) -> Option<String> {
        let Rest { conversation, read, thoughts, meter, .. } = rest;
        let texts = RequestTexts { messages: read, thoughts, meter, template: &self.template };
        conversation.quote(placed, &texts)
    }
}

/// A report names things; an address or a name in it may be of any length.
pub(crate) fn shorten(name: &mut String) {
    const MOST: usize = 120;
    if let Some((end, _)) = name.char_indices().nth(MOST) {
        name.truncate(end);
        name.push('…');
    }
}

/// A request that waits for its selection.
pub struct Rest<R: Parts> {
    request: R,
    messages: Vec<R::Message>,
    roles: Vec<Role>,
    /// As they were read.
    read: Vec<Message>,
    /// Which of them are the model's thoughts.
    thoughts: Vec<bool>,
    conversation: Conversation,
    /// What a plan recalls, once it is written.
    quotation: Option<String>,
    /// Which of the messages may carry a breakpoint.
    markable: Markable,
    meter: Meter,
}

impl<R: Parts + fmt::Debug> fmt::Debug for Rest<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rest")
            .field("messages", &self.messages.len())
            .field("meter", &self.meter)
            .finish_non_exhaustive()
    }
}

impl<R: Request> ContextAdapter<R> for OpenAiAdapter {
    type Rest = Rest<R>;

    fn model<'a>(&'a self, request: &'a R) -> Option<&'a str> {
        request.model()
    }

    fn before_split(&self, request: &R) -> Option<BoxFuture<'static, ()>> {
        let model = self.models.of_request(request.model()).ok()?;
        let counter = self.counter.clone().unwrap_or_else(|| shared_counter(model.encoding()));
        let mut ahead = CountAhead::new(counter);
        note_long_texts(request, &mut ahead);
        ahead.start()
    }

    fn split(&self, mut request: R) -> Result<Split<Self::Rest>, BoxError> {
        let model = self.models.of_request(request.model())?;
        let meter = Meter::new(model, self.counter.as_ref());
        let endpoint = request.endpoint();
        if endpoint == Endpoint::Messages {
            return Err(
                "the body is one of Anthropic's Messages; use MessagesAdapter for it".into()
            );
        }
        let (head, own_options) = request
            .head(|fields| (Head::read(&meter, endpoint, fields), has_own_options(fields)))?;
        let cache = self.cache.unwrap_or(model.cache_rule());
        let cache = if own_options { CacheRule::Prefix } else { cache };
        let read = |json: &[&str]| {
            let markable = Markable::read(cache, endpoint, json);
            let mut entries = endpoint.read(&meter, json, head.remote);
            if let Some(attributes) = &self.attributes {
                for (index, (entry, json)) in entries.iter_mut().zip(json).enumerate() {
                    let attributes = attributes(&MessageView::new(index, entry, json));
                    entry.message.attributes = Some(Box::new(attributes));
                }
            }
            (entries, markable)
        };
        let (messages, (entries, markable)) = request.take(read)?;
        let mut uncounted = head.uncounted;
        let mut read: Vec<Message> = Vec::with_capacity(entries.len());
        let mut thoughts = Vec::with_capacity(entries.len());
        for entry in entries {
            uncounted.extend(entry.uncounted);
            thoughts.push(entry.reasoning);
            read.push(entry.message);
        }
        uncounted.iter_mut().for_each(shorten);
        let roles = read.iter().map(|message| message.role).collect();
        let rules = match endpoint {
            Endpoint::Chat | Endpoint::Messages => self.rules.clone().answers(Answers::Next),
            Endpoint::Responses => self.rules.clone().answers(Answers::Later),
        };
        let write = |index: usize, content: &mut String| {
            content.push_str(read.get(index).map_or("", |message: &Message| &message.text));
        };
        let question = question(&read, write);
        let mut conversation = Conversation::with_texts(&read, &rules, write)?;
        let refused = conversation.take_refused();
        let candidates = conversation.take_candidates();
        if let (true, Some(first)) = (candidates.is_empty(), refused.first()) {
            return Err(format!(
                "the API would refuse all {} messages; the first: {}",
                messages.len(),
                first.why
            )
            .into());
        }
        let source_frame_tokens = self.template.frame_tokens(&meter);
        let rest = Rest {
            request,
            messages,
            roles,
            read,
            thoughts,
            conversation,
            quotation: None,
            markable,
            meter,
        };
        let mut split = Split::new(candidates, head.tokens, rest);
        split.source_frame_tokens = source_frame_tokens;
        split.refused = refused;
        split.uncounted = uncounted;
        split.question = question;
        Ok(split)
    }

    fn join(&self, mut rest: Self::Rest, placed: Vec<Placed>) -> Result<R, BoxError> {
        let (arranged, mut edits) = self.arrange(&mut rest, placed);
        let Rest { mut request, messages, roles, .. } = rest;
        let role_of = |index: &usize| roles.get(*index).copied();
        let instructions =
            || arranged.kept.iter().take_while(|at| role_of(at) == Some(Role::System)).count();
        let position = match self.template.placed_at() {
            ContextPosition::BeforeLastUser => arranged
                .kept
                .iter()
                .rposition(|at| role_of(at) == Some(Role::User))
                .unwrap_or_else(instructions),
            ContextPosition::AfterInstructions => instructions(),
        };
        let has_context = !arranged.retrieved.is_empty();
        let changed = has_context || !edits.is_empty() || arranged.kept.len() < messages.len();
        let mut messages: Vec<Option<R::Message>> = messages.into_iter().map(Some).collect();
        let own = |at: &usize| {
            let message = messages.get_mut(*at).and_then(Option::take)?;
            Some(match edits.remove(at) {
                Some(edit) => Piece::Edited(message, edit),
                None => Piece::Own(message),
            })
        };
        let mut pieces: Vec<Piece<R::Message>> = arranged.kept.iter().filter_map(own).collect();
        if has_context {
            let text = self.template.render(arranged.retrieved.iter().map(|placed| &placed.item));
            let context = Piece::Context { role: self.template.written_as(), text };
            pieces.insert(position.min(pieces.len()), context);
        }
        request.put(pieces, changed)?;
        Ok(request)
    }

    fn withdrawn(&self, rest: &Self::Rest, placed: &[Placed]) -> Vec<(usize, String)> {
        rest.conversation.withdrawn(placed)
    }

    fn plan(&self, rest: &mut Self::Rest, turn: &Turn<'_>) -> Option<Planned> {
        let Rest { conversation, read, thoughts, markable, meter, .. } = rest;
        let texts = RequestTexts { messages: read, thoughts, meter, template: &self.template };
        let mut planned = conversation.plan(turn, &texts).cloned()?;
        markable.expect(&mut planned, conversation, read, turn.fixed_tokens);
        Some(planned)
    }

    fn quote(&self, rest: &mut Self::Rest, placed: &[Placed]) -> Option<i64> {
        rest.quotation = self.quotation(rest, placed);
        Some(rest.quotation.as_deref().map_or(0, |text| rest.meter.text(text)))
    }

    fn quoted_tokens(&self, rest: &Self::Rest, source: &str, item: &ContextItem) -> i64 {
        let text = self.template.item_text(item);
        Quotation::source_tokens(source, &text, rest.meter.counter())
    }

    fn text<'a>(
        &'a self,
        _: &'a Self::Rest,
        _: usize,
        item: &'a ContextItem,
    ) -> Option<Cow<'a, str>> {
        Some(bare_text(item.content()))
    }

    fn source_item_tokens(&self, rest: &Self::Rest, item: &ContextItem) -> i64 {
        self.template.item_tokens(&rest.meter, item)
    }
}

impl fmt::Debug for OpenAiAdapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiAdapter")
            .field("models", &self.models)
            .field("counter", &self.counter)
            .field("template", &self.template)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}
