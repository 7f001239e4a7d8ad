//! Messages of OpenAI's APIs to candidates and back.

use std::collections::BTreeMap;
use std::fmt;

use cupel::conversation::{Answers, Edits, Message, Role, Texts};
use cupel::gather::BoxError;
use cupel::layer::{ContextAdapter, RequestFacts, Split, Strategy};
use cupel::tokens::{Encoding, load_in_background, shared_counter};

use crate::adapter::{JsonAdapter, JsonWindow, TemplateTexts};
use crate::breakpoints::{Markable, has_own_options};
use crate::draft::Edit;
use crate::models::{CacheRule, Models};
use crate::object::Object;
use crate::read::{Endpoint, Head, Meter, chat, responses};
use crate::request::{Parts, Piece, Request};
use crate::template::ContextPosition;

/// The adapter for all [requests](Request) of both APIs, typed and raw.
///
/// Each message is a candidate, or several that only make sense together: an assistant message
/// with tool calls and the answers to them, reasoning with what the model went on to write. What it
/// wrote after the result of a call is sent only with the reasoning before it.
/// System and developer messages, the last user message and the newest unit are pinned. What the
/// API would refuse is left out and reported. Messages keep their order. They are edited only where a
/// [plan](cupel::conversation::plan), which `Policy::chat` has, puts an excerpt in the place of a long
/// result, and in the user's last message, which begins with recalled messages and items of sources. A
/// text stays a text unless a breakpoint stands on it; for models whose prompt cache [needs them](crate::CacheRule::Breakpoints), some also get
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
pub type OpenAiAdapter = JsonAdapter<OpenAiApi>;

/// Settings of [`OpenAiAdapter`] that no other API has.
#[derive(Debug, Clone, Default)]
pub struct OpenAiApi {
    models: Models,
    cache: Option<CacheRule>,
}

impl OpenAiAdapter {
    /// Begins to load an encoding now, on a thread of its own, so that the first call does not have to
    /// wait for it.
    ///
    /// Without this the first call for a model of that encoding loads it (about 10 ms; less than a second in
    /// a debug build). It does so on Tokio's blocking pool, where large requests are read, too: other
    /// tasks go on, and a timeout around the call fires in time.
    pub fn preload(self, encoding: Encoding) -> Self {
        load_in_background(shared_counter(encoding));
        self
    }

    /// Sets the models that are known.
    pub fn models(mut self, models: Models) -> Self {
        self.api.models = models;
        self
    }

    /// Sets how the prompt cache of every model finds what it has seen, whatever the
    /// [models](Models) say: [`CacheRule::Prefix`] for a server that knows no breakpoints.
    pub fn cache(mut self, rule: CacheRule) -> Self {
        self.api.cache = Some(rule);
        self
    }

    /// Sets whether a plan begins what it keeps of a history with a user's message; it need not unless set.
    ///
    /// OpenAI's own servers take any beginning. Chat templates of other models do not: some refuse a
    /// request whose first message is the assistant's, others print it as the user's.
    pub fn user_first(mut self, enabled: bool) -> Self {
        self.rules = self.rules.user_first(enabled);
        self
    }

    /// The budget by the models this adapter knows.
    pub fn window(&self) -> JsonWindow {
        JsonWindow::new(self.api.models.clone())
    }
}

/// A request that waits for its selection.
pub struct OpenAiRest<R: Parts> {
    request: R,
    messages: Vec<R::Message>,
    /// Messages that may carry a breakpoint.
    markable: Markable,
}

impl<R: Parts> fmt::Debug for OpenAiRest<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rest").field("messages", &self.messages.len()).finish_non_exhaustive()
    }
}

impl<R: Request + 'static> ContextAdapter<R> for OpenAiAdapter {
    type Rest = OpenAiRest<R>;

    fn facts<'a>(&'a self, request: &'a R) -> RequestFacts<'a> {
        self.facts_by(&self.api.models, request)
    }

    fn split(&self, mut request: R, _: Strategy) -> Result<Split<Self::Rest>, BoxError> {
        let model = self.api.models.of_request(request.model())?;
        let meter = Meter::new(model, &self.counts);
        let endpoint = request.endpoint();
        if endpoint == Endpoint::Messages {
            return Err(
                "not a request of OpenAI's APIs; use MessagesAdapter for Anthropic's".into()
            );
        }
        let whole = request.whole()?;
        let fields = Object::parse(&whole).unwrap_or_default();
        let head = Head::read(&meter, endpoint, &fields);
        let cache = match has_own_options(&fields) {
            true => CacheRule::Prefix,
            false => self.api.cache.unwrap_or(model.cache),
        };
        let has_tools = fields.has("tools");
        drop(whole);
        let messages = request.take();
        let items = messages.iter().map(|message| request.item(message));
        let items = items.collect::<Result<Vec<_>, _>>()?;
        let json: Vec<&str> = items.iter().map(|item| &**item).collect();
        let is_call =
            |json: &&str| json.contains("\"tool_calls\"") || json.contains("function_call");
        let loops = has_tools || json.iter().any(is_call);
        let markable = Markable::read(cache, loops, endpoint, &json);
        let mut entries = match endpoint {
            Endpoint::Chat | Endpoint::Messages => chat::read(&meter, &json),
            Endpoint::Responses => responses::read(&meter, &json, head.remote),
        };
        self.add_attributes(&mut entries, &json);
        for entry in &mut entries {
            entry.message.private = entry.reasoning;
        }
        let rules = self.rules.clone().answers(match endpoint {
            Endpoint::Chat | Endpoint::Messages => Answers::Next,
            Endpoint::Responses => Answers::Later,
        });
        drop(items);
        let rest = OpenAiRest { request, messages, markable };
        self.conversation((entries, head), &rules, &meter, rest)
    }

    fn join(&self, rest: Self::Rest, edits: &mut Edits) -> Result<R, BoxError> {
        let OpenAiRest { mut request, messages, markable } = rest;
        markable.expect(edits);
        let mut changes: BTreeMap<usize, Edit> = BTreeMap::new();
        for ((message, _), excerpt) in &edits.excerpts {
            changes.entry(*message).or_default().excerpt = Some(excerpt.text.clone());
        }
        if let Some(standing) = edits.standing() {
            changes.entry(standing.message).or_default().standing = Some(standing.text.clone());
        }
        if let Some(quotation) = edits.quotation.take() {
            let edit = changes.entry(quotation.message).or_default();
            edit.quotation = Some(quotation.text);
            edit.apart = markable.loops && edits.is_cut();
        }
        if edits.is_cut() {
            let places = markable.places(edits.messages(), &edits.kept);
            for at in places.all().filter_map(|at| edits.kept.get(at)) {
                changes.entry(*at).or_default().breakpoint = true;
            }
        }
        let kept = &edits.kept;
        let instructions =
            || kept.iter().take_while(|at| edits.role_of(**at) == Some(Role::System)).count();
        let position = match self.template.placed_at() {
            ContextPosition::BeforeLastUser => kept
                .iter()
                .rposition(|at| edits.messages().get(*at).is_some_and(Message::asks))
                .unwrap_or_else(instructions),
            ContextPosition::AfterInstructions => instructions(),
        };
        let context = edits.sources.take();
        let changed = context.is_some() || !changes.is_empty() || kept.len() < messages.len();
        let mut messages: Vec<Option<R::Message>> = messages.into_iter().map(Some).collect();
        let own = |at: &usize| {
            let message = messages.get_mut(*at).and_then(Option::take)?;
            Some(match changes.remove(at) {
                Some(edit) => Piece::Edited(message, edit),
                None => Piece::Own(message),
            })
        };
        let mut pieces: Vec<Piece<R::Message>> = kept.iter().filter_map(own).collect();
        if let Some(quotation) = context {
            let text = self.template.around(&quotation);
            let context = Piece::Context { role: self.template.written_as(), text };
            pieces.insert(position.min(pieces.len()), context);
        }
        request.put(pieces, changed)?;
        if let Some(kept) = &edits.tools {
            request.keep_tools(kept)?;
        }
        Ok(request)
    }

    fn texts<'a>(&'a self, _: &'a Self::Rest) -> Box<dyn Texts + 'a> {
        Box::new(TemplateTexts(&self.template))
    }
}
