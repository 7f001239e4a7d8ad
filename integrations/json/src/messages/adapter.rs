//! Messages of Anthropic's API to candidates and back.

use std::borrow::Cow;
use std::fmt;

use cupel::ContextItem;
use cupel::conversation::{Answers, Edits, Exchanges, Message, Role, Texts};
use cupel::gather::BoxError;
use cupel::layer::{ContextAdapter, RequestFacts, Split, Strategy};
use cupel::tokens::ClaudeTokenizer;

use super::caches::{by_marks, mark, mark_head};
use super::read::{self, ClaudeMeter};
use crate::adapter::JsonAdapter;
use crate::draft::RequestDraft;
use crate::models::{ClaudeModels, ClaudeWindow};
use crate::object::{Object, place, text_of};
use crate::read::Endpoint;
use crate::request::{JsonBody, Parts as _};
use crate::template::ContextTemplate;

/// The adapter for bodies of Anthropic's Messages.
///
/// Each message is a candidate; an assistant's message with `tool_use` is one with the message of the
/// user that answers it. The first message that is sent is the user's, and roles alternate as they
/// did. Thinking stays in its message, byte for byte; what a model went on to do without thinking
/// anew is sent only with the thoughts before it. Messages are edited only where a
/// [plan](cupel::conversation::plan) puts an excerpt in the place of a long result, and in the user's
/// last message, which begins with recalled messages and items of sources (behind results of tools,
/// which have to come first). A text stays a text unless a mark of the cache stands on it.
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
pub type MessagesAdapter = JsonAdapter<MessagesApi>;

/// Settings of [`MessagesAdapter`] that no other API has.
#[derive(Debug, Clone, Default)]
pub struct MessagesApi {
    models: ClaudeModels,
    unmarked: bool,
}

impl MessagesAdapter {
    /// Sets the models that are known.
    pub fn models(mut self, models: ClaudeModels) -> Self {
        self.api.models = models;
        self
    }

    /// Sets whether requests that are cut get marks of the prompt cache; they do unless set.
    pub fn cache_marks(mut self, enabled: bool) -> Self {
        self.api.unmarked = !enabled;
        self
    }

    /// The budget by the models this adapter knows. 10 % of it stays free, because Claude's tokens are
    /// estimated.
    pub fn window(&self) -> ClaudeWindow {
        ClaudeWindow::new(self.api.models.clone())
            .safety_margin_percent(ClaudeTokenizer::MARGIN_PERCENT)
    }
}

/// A request that waits for its selection.
pub struct MessagesRest<T> {
    request: JsonBody<T>,
    meter: ClaudeMeter,
}

impl<T> fmt::Debug for MessagesRest<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rest").field("meter", &self.meter).finish_non_exhaustive()
    }
}

impl<T: Send + 'static> ContextAdapter<JsonBody<T>> for MessagesAdapter {
    type Rest = MessagesRest<T>;

    fn facts<'a>(&'a self, request: &'a JsonBody<T>) -> RequestFacts<'a> {
        self.facts_by(&self.api.models, request)
    }

    fn split(
        &self,
        request: JsonBody<T>,
        strategy: Strategy,
    ) -> Result<Split<MessagesRest<T>>, BoxError> {
        if request.endpoint() != Endpoint::Messages {
            return Err("not an Anthropic Messages request; use OpenAiAdapter for OpenAI's".into());
        }
        let model = self.api.models.of_request(request.model())?;
        let meter = ClaudeMeter::new(model, &self.counts);
        let head = read::head(&meter, &Object::parse(request.json()).unwrap_or_default());
        let texts: Vec<&str> = request.messages().collect();
        let mut entries = read::read(&meter, &texts);
        self.add_attributes(&mut entries, &texts);
        // Kept behind a turn that is gone, the API would refuse them.
        for entry in entries.iter_mut().filter(|entry| entry.message.role == Role::System) {
            let attributes = entry.message.attributes.get_or_insert_default();
            attributes.pinned.get_or_insert(false);
        }
        let rules = self.rules.clone().answers(Answers::Next);
        let rules = match strategy {
            Strategy::Planned => rules.exchanges(Exchanges::Apart).user_first(true),
            // One by one, two messages of the same role could come to stand side by side.
            Strategy::Scored => rules.exchanges(Exchanges::StepsApart),
        };
        let rest = MessagesRest { request, meter: meter.clone() };
        self.conversation((entries, head), &rules, &meter, rest)
    }

    fn join(&self, rest: MessagesRest<T>, edits: &mut Edits) -> Result<JsonBody<T>, BoxError> {
        let MessagesRest { mut request, meter } = rest;
        let marks = !self.api.unmarked && edits.is_cut();
        by_marks(edits, &request, marks, meter.model);
        let json: Vec<&str> = request.messages().collect();
        let thinks = json.iter().any(|json| json.contains("thinking\""));
        let mut context =
            edits.quotation.take().map(|quotation| (quotation.message, quotation.text));
        if let Some(quotation) = edits.sources.take() {
            let at = last_words(edits.messages(), &edits.kept);
            context = at.map(|at| (at, self.template.around(&quotation)));
        }
        let changed = edits.changes_messages() || context.is_some();
        if changed {
            let loops = Object::parse(request.json()).is_some_and(|fields| fields.has("tools"));
            let mut drafts: Vec<RequestDraft<'_>> = Vec::with_capacity(edits.kept.len());
            for at in &edits.kept {
                let json = json.get(*at).copied().unwrap_or_default();
                let mut draft = RequestDraft::new(Endpoint::Messages, json);
                let standing = edits.standing().filter(|standing| standing.message == *at);
                let quotation = context.as_ref().filter(|(question, _)| question == at);
                let quotation = quotation.map(|(_, text)| &**text);
                draft.put_before(standing.map(|standing| &*standing.text), quotation)?;
                // In the first call of a loop of tools it is the newest message, which is marked.
                if quotation.is_some() && marks && loops {
                    draft.keep_apart();
                }
                let places = read::result_texts(json);
                for (number, place) in places.into_iter().enumerate() {
                    if let Some(excerpt) = edits.excerpts.get(&(*at, number)) {
                        draft.replace(place, serde_json::to_string(&excerpt.text)?);
                    }
                }
                drafts.push(draft);
            }
            let head = if marks {
                let opens = |at: &usize| edits.messages().get(*at).is_some_and(Message::asks);
                let opens: Vec<bool> = edits.kept.iter().map(opens).collect();
                mark(request.json(), &mut drafts, &opens)
            } else {
                None
            };
            let items: Vec<String> = drafts.into_iter().map(RequestDraft::write).collect();
            request.replace_messages(&items)?;
            if let Some(control) = head {
                mark_head(&mut request, control)?;
            }
        }
        if let Some(kept) = &edits.tools {
            request.keep_tools(kept)?;
        }
        let changed = changed || edits.tools.is_some();
        // With sources, what was sent before may have held more than it holds now.
        let has_sources = edits.plan.is_some() && edits.has_sources;
        if thinks && meter.model.binds_thinking && (changed || has_sources) {
            drop_stale(&mut request)?;
        }
        Ok(request)
    }

    fn texts<'a>(&'a self, rest: &'a MessagesRest<T>) -> Box<dyn Texts + 'a> {
        Box::new(BodyTexts { json: rest.request.messages().collect(), template: &self.template })
    }
}

/// Texts of a body's messages. Thinking is not among what messages show, so it is never quoted.
struct BodyTexts<'a> {
    json: Vec<&'a str>,
    template: &'a ContextTemplate,
}

impl Texts for BodyTexts<'_> {
    fn result<'a>(&'a self, index: usize, _: &'a Message, number: usize) -> Option<Cow<'a, str>> {
        let json = self.json.get(index)?;
        let place = read::result_texts(json).into_iter().nth(number)?;
        text_of(json.get(place)?)
    }

    fn source<'a>(&'a self, item: &'a ContextItem) -> Cow<'a, str> {
        Cow::Owned(self.template.item_text(item))
    }
}

/// Index of the message that items of sources are put into: the user's last words, or the last message
/// of theirs that is sent at all.
fn last_words(messages: &[Message], kept: &[usize]) -> Option<usize> {
    let last = |test: &dyn Fn(&Message) -> bool| {
        kept.iter().rev().copied().find(|at| messages.get(*at).is_some_and(test))
    };
    last(&Message::asks)
        .or_else(|| last(&|message| matches!(message.role, Role::User | Role::Tool)))
}

/// The value that `anthropic-beta` needs when a body has `thinking.block_binding`.
pub const BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";

const BINDING: &str = r#""block_binding":{"prefix_mismatch_behavior":"drop_block"}"#;

/// Asks for thoughts that no longer fit to be dropped, unless the caller has said what to do.
///
/// <https://platform.claude.com/docs/en/build-with-claude/preserved-thinking>: newer models refuse thinking
/// once something before it has changed. Only the provider knows which thoughts still fit.
fn drop_stale<T>(body: &mut JsonBody<T>) -> Result<(), BoxError> {
    match setting(body.json()) {
        Some((at, new)) => body.splice(at..at, &new),
        None => Ok(()),
    }
}

/// The setting, and where it is put in.
fn setting(json: &str) -> Option<(usize, String)> {
    let request = Object::parse(json)?;
    Some(match request.raw("thinking") {
        Some(raw) => {
            let thinking = request.object("thinking")?;
            if thinking.has("block_binding") || thinking.text("type")? != "adaptive" {
                return None;
            }
            (place(json, raw)?.end - 1, format!(",{BINDING}"))
        }
        // These models think adaptively unless told otherwise.
        None => (json.rfind('}')?, format!(r#","thinking":{{"type":"adaptive",{BINDING}}}"#)),
    })
}

impl<T> JsonBody<T> {
    /// The value that has to be in the header `anthropic-beta` for this body, if any: those who send
    /// it add [it](BINDING_BETA) to what is there.
    #[must_use]
    pub fn needs_beta(&self) -> Option<&'static str> {
        // The parser is asked only where the words are there at all.
        let found = self.json().contains("\"block_binding\"");
        let request = found.then(|| Object::parse(self.json())).flatten()?;
        request.object("thinking")?.has("block_binding").then_some(BINDING_BETA)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(json: &str) -> (String, bool) {
        let mut body = JsonBody::parse(Endpoint::Messages, json).unwrap();
        drop_stale(&mut body).unwrap();
        (body.json().to_owned(), body.needs_beta().is_some())
    }

    #[test]
    fn the_setting_is_added_and_needs_its_header() {
        let (json, beta) = dropped(r#"{"messages":[], "thinking" : {"type":"adaptive"} }"#);
        let expected =
            format!(r#"{{"messages":[], "thinking" : {{"type":"adaptive",{BINDING}}} }}"#);
        assert_eq!((json, beta), (expected, true));
        let (json, beta) = dropped(r#"{"messages":[]}"#);
        let expected = format!(r#"{{"messages":[],"thinking":{{"type":"adaptive",{BINDING}}}}}"#);
        assert_eq!((json, beta), (expected, true));
    }

    #[test]
    fn what_the_caller_has_set_stays() {
        let own = r#"{"messages":[],"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"error"}}}"#;
        assert_eq!(dropped(own), (own.to_owned(), true));
        for json in [
            r#"{"messages":[],"thinking":{"type":"disabled"}}"#,
            r#"{"messages":[],"thinking":{"type":"enabled","budget_tokens":2048}}"#,
            r#"{"messages":["block_binding"],"thinking":{"type":"disabled"}}"#,
        ] {
            assert_eq!(dropped(json), (json.to_owned(), false));
        }
    }
}
