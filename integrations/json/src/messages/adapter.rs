//! Messages of Anthropic's API to candidates and back.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use cupel::ContextItem;
use cupel::conversation::plan::{Planned, Quotation, Turn};
use cupel::conversation::{
    Answers, Attributes, Conversation, Exchanges, Message, Role, Rules, bare_text, question,
};
use cupel::gather::BoxError;
use cupel::layer::{ContextAdapter, CountAhead, Placed, Split};
use cupel::tokens::{ClaudeTokenizer, TokenCounter};
use futures::future::BoxFuture;

use super::binding::drop_stale;
use super::caches::{mark, mark_head};
use super::draft::Draft;
use super::expect;
use super::head::Head;
use super::meter::{BLOCK, ClaudeMeter};
use super::models::{ClaudeModels, ClaudeWindow};
use super::read;
use super::result;
use super::texts::BodyTexts;
use crate::adapter::shorten;
use crate::count::note_long_texts;
use crate::read::{Endpoint, MessageView, Object};
use crate::request::JsonBody;
use crate::template::ContextTemplate;

/// The adapter for bodies of Anthropic's Messages.
///
/// Each message is a candidate; an assistant's message with `tool_use` is one with the message of the
/// user that answers it. The first message that is sent is the user's, and roles alternate as they
/// did. Thinking stays in its message, byte for byte; what a model went on to do without thinking
/// anew is sent only with the thoughts before it. Messages are edited only where a
/// [plan](cupel::conversation::plan) puts an excerpt in the place of a long result, and in the user's
/// last message, whose first text becomes what is recalled and what sources give (behind results of
/// tools, which have to come first).
///
/// # Prompt caches
///
/// A planned request that is cut gets marks (`cache_control`) at the end of its stable part, before
/// the previous question, at its head and, where there are tools, on its newest message; with the
/// caller's own, which stay, never more than four. [`cache_marks`](Self::cache_marks) turns them off.
///
/// # Bound thinking
///
/// Claude 5.1 and later refuse thinking once something before it has changed. A request to such a
/// model that is changed asks the API to leave out those thoughts instead. That takes a header: who
/// sends the body adds what [`JsonBody::needs_beta`] names to `anthropic-beta`.
///
/// # Counting
///
/// Claude's tokenizer is not public. Texts count as OpenAI's o200k counts them, times 1.3 for models
/// before Claude Opus 4.7 and times 1.7 for it and later ones; [`ClaudeTokenizer`] says where these come
/// from. They are the upper ends of what was measured in public, so on most texts the product is above.
/// The default margin of [`window`](Self::window), 10 %, is for texts of which nobody has published a
/// measurement. The provider's own number is in `usage` of every answer, and
/// `/v1/messages/count_tokens` gives it beforehand.
///
/// ```
/// use cupel::Policy;
/// use cupel::layer::CupelLayer;
/// use cupel_json::{JsonBody, MessagesAdapter};
///
/// let adapter = MessagesAdapter::new();
/// let layer = CupelLayer::<JsonBody, _>::builder()
///     .budget(adapter.window().at_most(32_000))
///     .adapter(adapter)
///     .policy(Policy::chat())
///     .build()?;
/// # let _ = layer;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct MessagesAdapter {
    models: ClaudeModels,
    counter: Option<Arc<dyn TokenCounter>>,
    template: ContextTemplate,
    attributes: Option<Hook>,
    rules: Rules,
    unmarked: bool,
}

type Hook = Arc<dyn Fn(&MessageView<'_>) -> Attributes + Send + Sync>;

impl MessagesAdapter {
    /// Estimates by the request's model, remembered from turn to turn; everything else by default.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the models that are known.
    pub fn models(mut self, models: ClaudeModels) -> Self {
        self.models = models;
        self
    }

    /// Counts text with this counter instead of the estimate; it is not scaled.
    ///
    /// The same texts come again on every turn: wrap it in a
    /// [`CachedCounter`](cupel::tokens::CachedCounter).
    pub fn counter(mut self, counter: impl TokenCounter + 'static) -> Self {
        self.counter = Some(Arc::new(counter));
        self
    }

    /// Sets how what sources gave is written. Its role and position play no part: it stands in the
    /// user's last message.
    pub fn template(mut self, template: ContextTemplate) -> Self {
        self.template = template;
        self
    }

    /// Sets a function that says what a message is worth: its priority, tags, relevance, real
    /// timestamp, and whether it is pinned.
    pub fn attributes(
        mut self,
        hook: impl Fn(&MessageView<'_>) -> Attributes + Send + Sync + 'static,
    ) -> Self {
        self.attributes = Some(Arc::new(hook));
        self
    }

    /// Changes what is pinned and how messages are dated, setting by setting. Where answers to
    /// calls stand and who may follow whom is the API's business and stays as it is.
    pub fn rules(mut self, change: impl FnOnce(Rules) -> Rules) -> Self {
        self.rules = change(self.rules);
        self
    }

    /// Sets whether requests that are cut get marks of the prompt cache; they do unless set.
    pub fn cache_marks(mut self, enabled: bool) -> Self {
        self.unmarked = !enabled;
        self
    }

    /// The budget by the models this adapter knows, with a safety margin of 10 % for what these
    /// counts miss.
    pub fn window(&self) -> ClaudeWindow {
        ClaudeWindow::new(self.models.clone())
            .safety_margin_percent(ClaudeTokenizer::MARGIN_PERCENT)
    }

    /// What the template adds once.
    fn frame_tokens(&self, meter: &ClaudeMeter) -> i64 {
        let [header, _, footer] = self.template.frame();
        let text = meter.text(header).saturating_add(meter.text(footer));
        BLOCK.saturating_add(text).saturating_add(1)
    }

    /// What is recalled of a selection.
    fn quotation(&self, rest: &Rest, placed: &[Placed]) -> Option<String> {
        let Rest { request, read, conversation, meter, .. } = rest;
        let json = request.message_texts();
        let texts = BodyTexts { read, json, meter, template: &self.template };
        conversation.quote(placed, &texts)
    }

    fn take_apart(&self, request: JsonBody, rules: &Rules) -> Result<Split<Rest>, BoxError> {
        if request.endpoint() != Endpoint::Messages {
            return Err("the body is none of Anthropic's Messages; use OpenAiAdapter for it".into());
        }
        let model = self.models.of_request(request.model())?;
        let meter = ClaudeMeter::new(model, self.counter.as_ref());
        let head = Head::read(&meter, &Object::parse(request.json()).unwrap_or_default());
        let texts = request.message_texts();
        let mut entries = read::read(&meter, &texts);
        if let Some(attributes) = &self.attributes {
            for (index, (entry, json)) in entries.iter_mut().zip(&texts).enumerate() {
                let attributes = attributes(&MessageView::new(index, entry, json));
                entry.message.attributes = Some(Box::new(attributes));
            }
        }
        // Kept behind a turn that is gone, the API would refuse them.
        for entry in entries.iter_mut().filter(|entry| entry.message.role == Role::System) {
            let attributes = entry.message.attributes.get_or_insert_default();
            attributes.pinned.get_or_insert(false);
        }
        let thinks = texts.iter().any(|json| json.contains("thinking\""));
        let mut uncounted = head.uncounted;
        let mut read: Vec<Message> = Vec::with_capacity(entries.len());
        for entry in entries {
            uncounted.extend(entry.uncounted);
            read.push(entry.message);
        }
        uncounted.iter_mut().for_each(shorten);
        let write = |index: usize, content: &mut String| {
            content.push_str(read.get(index).map_or("", |message| &message.text));
        };
        let question = question(&read, write);
        let mut conversation = Conversation::with_texts(&read, rules, write)?;
        let refused = conversation.take_refused();
        let candidates = conversation.take_candidates();
        if let (true, Some(first)) = (candidates.is_empty(), refused.first()) {
            return Err(format!(
                "the API would refuse all {} messages; the first: {}",
                read.len(),
                first.why
            )
            .into());
        }
        let source_frame_tokens = self.frame_tokens(&meter);
        let (has_sources, quotation) = (false, None);
        let rest = Rest { request, read, thinks, has_sources, conversation, quotation, meter };
        let mut split = Split::new(candidates, head.tokens, rest);
        split.source_frame_tokens = source_frame_tokens;
        split.refused = refused;
        split.uncounted = uncounted;
        split.question = question;
        Ok(split)
    }
}

/// A request that waits for its selection.
pub struct Rest {
    request: JsonBody,
    /// As they were read.
    read: Vec<Message>,
    /// Whether any of them may hold thinking.
    thinks: bool,
    /// Whether what was sent before may have held more than it holds now.
    has_sources: bool,
    conversation: Conversation,
    /// What a plan recalls, once it is written.
    quotation: Option<String>,
    meter: ClaudeMeter,
}

impl fmt::Debug for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rest")
            .field("messages", &self.read.len())
            .field("meter", &self.meter)
            .finish_non_exhaustive()
    }
}

impl ContextAdapter<JsonBody> for MessagesAdapter {
    type Rest = Rest;

    fn model<'a>(&'a self, request: &'a JsonBody) -> Option<&'a str> {
        request.model()
    }

    fn before_split(&self, request: &JsonBody) -> Option<BoxFuture<'static, ()>> {
        let model = self.models.of_request(request.model()).ok()?;
        let meter = ClaudeMeter::new(model, self.counter.as_ref());
        let mut ahead = CountAhead::new(meter.shared_counter());
        note_long_texts(request, &mut ahead);
        ahead.start()
    }

    fn split(&self, request: JsonBody) -> Result<Split<Rest>, BoxError> {
        // One by one, two messages of the same role could come to stand side by side.
        let rules = self.rules.clone().answers(Answers::Next).exchanges(Exchanges::StepsApart);
        self.take_apart(request, &rules)
    }

    fn split_to_plan(&self, request: JsonBody) -> Result<Split<Rest>, BoxError> {
        let rules = self.rules.clone().answers(Answers::Next).exchanges(Exchanges::Apart);
        self.take_apart(request, &rules.user_first(true))
    }

    fn plan(&self, rest: &mut Rest, turn: &Turn<'_>) -> Option<Planned> {
        rest.has_sources = turn.has_sources;
        let Rest { request, read, conversation, meter, .. } = rest;
        let json = request.message_texts();
        let texts = BodyTexts { read, json, meter, template: &self.template };
        let mut planned = conversation.plan(turn, &texts).cloned()?;
        // What is recalled is a block.
        planned.frame = planned.frame.saturating_add(if planned.share > 0 { BLOCK } else { 0 });
        let marks = !self.unmarked && !planned.whole;
        expect::by_marks(&mut planned, request, marks, turn.fixed_tokens, meter.model);
        Some(planned)
    }

    fn join(&self, rest: Rest, placed: Vec<Placed>) -> Result<JsonBody, BoxError> {
        // Whoever calls this alone has not had it written.
        let quotation = rest.quotation.clone().or_else(|| self.quotation(&rest, &placed));
        let Rest { mut request, read, thinks, has_sources, conversation, meter, .. } = rest;
        let arranged = conversation.arrange(placed);
        let planned = conversation.planned();
        let json = request.message_texts();
        let asked = planned.and_then(|planned| planned.question);
        let context = match asked {
            Some(at) => quotation.map(|text| (at, text)),
            None if arranged.retrieved.is_empty() => None,
            None => last_words(&read, &arranged.kept).map(|at| {
                let items = arranged.retrieved.iter().map(|placed| &placed.item);
                (at, self.template.render(items))
            }),
        };
        let excerpts = planned.map(|planned| &planned.excerpts);
        let is_cut = arranged.kept.len() < read.len();
        let changed = is_cut || context.is_some() || excerpts.is_some_and(|all| !all.is_empty());
        if changed {
            let mut drafts: Vec<Draft<'_>> = Vec::with_capacity(arranged.kept.len());
            for at in &arranged.kept {
                let json = json.get(*at).copied().unwrap_or_default();
                let mut draft = Draft::new(json);
                if let Some((_, text)) = context.as_ref().filter(|(question, _)| question == at) {
                    draft.prepend(text)?;
                }
                let places = result::texts(json);
                for (number, place) in places.into_iter().enumerate() {
                    if let Some(excerpt) = excerpts.and_then(|all| all.get(&(*at, number))) {
                        // No text may be empty.
                        let blank = excerpt.text.trim().is_empty();
                        let text = if blank { "[…]" } else { &*excerpt.text };
                        draft.replace(place, serde_json::to_string(text)?);
                    }
                }
                drafts.push(draft);
            }
            let plan = planned.filter(|planned| !planned.whole && !self.unmarked);
            let head = plan.and_then(|_| {
                let opens = |at: &usize| read.get(*at).is_some_and(Message::asks);
                let opens: Vec<bool> = arranged.kept.iter().map(opens).collect();
                mark(request.json(), &mut drafts, &opens)
            });
            let items: Vec<String> = drafts.into_iter().map(Draft::write).collect();
            request.replace_messages(&items.join(","))?;
            if let Some(control) = head {
                mark_head(&mut request, control)?;
            }
        }
        if thinks && meter.model.binds() && (changed || has_sources) {
            drop_stale(&mut request)?;
        }
        Ok(request)
    }

    fn quote(&self, rest: &mut Rest, placed: &[Placed]) -> Option<i64> {
        rest.quotation = self.quotation(rest, placed);
        let text = rest.quotation.as_deref();
        Some(text.map_or(0, |text| BLOCK.saturating_add(rest.meter.text(text))))
    }

    fn withdrawn(&self, rest: &Rest, placed: &[Placed]) -> Vec<(usize, String)> {
        rest.conversation.withdrawn(placed)
    }

    fn text<'a>(&'a self, _: &'a Rest, _: usize, item: &'a ContextItem) -> Option<Cow<'a, str>> {
        Some(bare_text(item.content()))
    }

    fn source_item_tokens(&self, rest: &Rest, item: &ContextItem) -> i64 {
        let [_, separator, _] = self.template.frame();
        let text = self.template.item_text(item);
        rest.meter.text(&text).saturating_add(rest.meter.text(separator)).saturating_add(1)
    }

    fn quoted_tokens(&self, rest: &Rest, source: &str, item: &ContextItem) -> i64 {
        let text = self.template.item_text(item);
        Quotation::source_tokens(source, &text, rest.meter.counter())
    }
}

/// The message that what sources gave is put into: the user's last words, or the last message of
/// theirs that is sent at all.
fn last_words(read: &[Message], kept: &[usize]) -> Option<usize> {
    let last = |test: &dyn Fn(&Message) -> bool| {
        kept.iter().rev().copied().find(|at| read.get(*at).is_some_and(test))
    };
    last(&Message::asks)
        .or_else(|| last(&|message| matches!(message.role, Role::User | Role::Tool)))
}

impl fmt::Debug for MessagesAdapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessagesAdapter")
            .field("models", &self.models)
            .field("counter", &self.counter)
            .field("template", &self.template)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}
