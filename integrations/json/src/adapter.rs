//! Settings and steps that the adapters of all APIs share.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use cupel::ContextItem;
use cupel::conversation::{Attributes, Conversation, Message, PartTokens, Rules, Texts};
use cupel::gather::BoxError;
use cupel::layer::{ModelLookup, RequestFacts, Split, WindowLimits};
use cupel::tokens::TokenCounter;
use cupel::tool_choice::ToolOffer;

use crate::models::{CountRules, LocalRules, Meter, ModelFacts, ModelTable, Models};
use crate::read::{Entry, Head, MessageView};
use crate::request::Request;
use crate::template::ContextTemplate;

/// An adapter for JSON bodies: [`OpenAiAdapter`](crate::OpenAiAdapter) or
/// [`MessagesAdapter`](crate::MessagesAdapter).
#[derive(Clone, Default)]
#[must_use]
pub struct JsonAdapter<P> {
    pub(crate) api: P,
    pub(crate) counts: CountRules,
    pub(crate) template: ContextTemplate,
    attributes: Option<Hook>,
    pub(crate) rules: Rules,
}

type Hook = Arc<dyn Fn(&MessageView<'_>) -> Attributes + Send + Sync>;

impl<P: Default> JsonAdapter<P> {
    /// Counts by the request's model, remembered from turn to turn; everything else by default.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<P> JsonAdapter<P> {
    /// Counts text with this counter instead of the model's own; it is not scaled.
    ///
    /// The same texts come again on every turn: wrap it in a
    /// [`CachedCounter`](cupel::tokens::CachedCounter).
    pub fn counter(mut self, counter: impl TokenCounter + 'static) -> Self {
        self.counts.counter = Some(Arc::new(counter));
        self
    }

    /// Counts the format of messages and definitions of tools as a local server does, instead of the vendor's.
    pub fn local(mut self, rules: LocalRules) -> Self {
        if rules.has_template() {
            self.rules = self.rules.user_first(true);
        }
        self.counts.local = Some(rules);
        self
    }

    /// Counts everything exactly, by a model's tokenizer and chat template.
    ///
    /// ```no_run
    /// use cupel::tokens::ModelFiles;
    /// use cupel_json::OpenAiAdapter;
    ///
    /// let adapter = OpenAiAdapter::new().model_files(&ModelFiles::open("/models/qwen/tokenizer.json")?);
    /// # let _ = adapter;
    /// # Ok::<(), cupel::tokens::TokenizerError>(())
    /// ```
    #[cfg(feature = "tokenizers")]
    pub fn model_files(mut self, files: &cupel::tokens::ModelFiles) -> Self {
        self.counts.counter = Some(files.counter());
        let rules = files.template().map(LocalRules::of_template);
        self.local(rules.unwrap_or_else(LocalRules::any))
    }

    /// Sets how items of sources are written. In Anthropic's Messages its role and position play no
    /// part: they stand in the user's last message.
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
    ///
    /// ```
    /// use cupel_json::OpenAiAdapter;
    ///
    /// let adapter = OpenAiAdapter::new().rules(|rules| rules.pin_latest(false));
    /// # let _ = adapter;
    /// ```
    pub fn rules(mut self, change: impl FnOnce(Rules) -> Rules) -> Self {
        self.rules = change(self.rules);
        self
    }

    /// Sets the attributes that the caller's hook has for messages.
    pub(crate) fn add_attributes(&self, entries: &mut [Entry], json: &[&str]) {
        let Some(attributes) = &self.attributes else { return };
        for (index, (entry, json)) in entries.iter_mut().zip(json).enumerate() {
            let attributes = attributes(&MessageView { index, entry, json });
            entry.message.attributes = Some(Box::new(attributes));
        }
    }

    /// Facts about a request, by the models that are known.
    pub(crate) fn facts_by<'a, R: Request, M: ModelFacts>(
        &self,
        models: &ModelTable<M>,
        request: &'a R,
    ) -> RequestFacts<'a> {
        let own = models.of_request(request.model()).ok().map(|model| model.counter());
        let steps = match self.counts.counter.as_ref().or(own.as_ref()) {
            Some(counter) if counter.is_ready() => {
                let of_byte = counter.nanoseconds_per_byte() / KNOWN_SHARE;
                (request.size() as u64).saturating_mul(of_byte.max(STEPS_PER_BYTE))
            }
            // Its vocabulary has to be loaded.
            Some(_) => u64::MAX,
            None => 0,
        };
        RequestFacts::new(request.model()).steps(steps)
    }

    /// Makes a conversation of what was read.
    pub(crate) fn conversation<M: ModelFacts, Rest>(
        &self,
        (entries, head): (Vec<Entry>, Head),
        rules: &Rules,
        meter: &Meter<M>,
        rest: Rest,
    ) -> Result<Split<Rest>, BoxError> {
        let mut uncounted = head.uncounted;
        let mut messages: Vec<Message> = Vec::with_capacity(entries.len());
        for mut entry in entries {
            uncounted.append(&mut entry.uncounted);
            messages.push(entry.message);
        }
        uncounted.iter_mut().for_each(shorten);
        let conversation = Conversation::new(messages, rules)?
            .counter(Arc::clone(&meter.counter))
            .part_tokens(match meter.format.per_part {
                0 => PartTokens::Free,
                part => PartTokens::OfShare(part),
            })
            .empty_result(M::EMPTY_RESULT)
            .fixed_identity(head.identity);
        let mut split = Split::conversation(conversation, head.tokens, rest)?;
        let offer = ToolOffer::new(head.tools);
        split.tools = head.instructions.iter().fold(offer, |offer, text| offer.instructions(text));
        split.source_frame_tokens = self.template.frame_tokens(meter);
        split.uncounted = uncounted;
        Ok(split)
    }
}

/// Nanoseconds for reading a byte of a request. New text takes about 35 to count, known text about 3 to
/// find in the cache; most of a request is known.
const STEPS_PER_BYTE: u64 = 16;

/// One byte of so many is taken to be new.
const KNOWN_SHARE: u64 = 3;

/// Texts of messages that hold their own, and of items as the template writes them.
pub(crate) struct TemplateTexts<'a>(pub(crate) &'a ContextTemplate);

impl Texts for TemplateTexts<'_> {
    fn source<'a>(&'a self, item: &'a ContextItem) -> Cow<'a, str> {
        Cow::Owned(self.0.item_text(item))
    }
}

/// A report names things; an address or a name in it may be of any length.
fn shorten(name: &mut String) {
    const MOST: usize = 120;
    if let Some((end, _)) = name.char_indices().nth(MOST) {
        name.truncate(end);
        name.push('…');
    }
}

impl<P: fmt::Debug> fmt::Debug for JsonAdapter<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonAdapter")
            .field("api", &self.api)
            .field("counts", &self.counts)
            .field("template", &self.template)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

impl<R: Request, M: ModelFacts> ModelLookup<R> for ModelTable<M> {
    fn limits(&self, request: &R) -> Result<WindowLimits, BoxError> {
        Ok(self.of_request(request.model())?.limits())
    }

    fn output_tokens(&self, request: &R) -> Result<Option<i64>, BoxError> {
        request.output_tokens()
    }

    fn safety_margin_percent(&self, request: &R) -> f64 {
        self.of_request(request.model()).map_or(0.0, |model| model.margin_percent())
    }
}

/// A budget by the request's model and output limit; [`OpenAiAdapter::window`] makes one.
///
/// The answer gets `max_completion_tokens` (or `max_tokens`, or `max_output_tokens`) of the
/// window. When the request sets none it gets 4,096 tokens or a quarter of the window, whichever is
/// less. Without feature `tiktoken` the counts are estimates, and 15 % of the budget stays free.
///
/// ```
/// use cupel::layer::BudgetProvider;
/// use cupel_json::{Endpoint, JsonBody, OpenAiAdapter};
///
/// let json = r#"{"model": "gpt-4o", "max_output_tokens": 2000, "input": "Hi"}"#;
/// let request = JsonBody::parse(Endpoint::Responses, json).unwrap();
/// let budget = OpenAiAdapter::new().window().budget(&request)?;
/// assert_eq!((budget.max_tokens(), budget.target_tokens()), (128_000, 126_000));
/// # Ok::<(), cupel::gather::BoxError>(())
/// ```
///
/// [`OpenAiAdapter::window`]: crate::OpenAiAdapter::window
pub type JsonWindow = cupel::layer::ModelWindow<Models>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endpoint, JsonBody, Model};
    use cupel::ContextBudget;
    use cupel::gather::BoxError;
    use cupel::layer::BudgetProvider;
    use cupel::tokens::Encoding;

    fn chat(model: &str, output: Option<u32>) -> JsonBody {
        let limit = output.map_or("null".to_owned(), |limit| limit.to_string());
        let json =
            format!(r#"{{"model":"{model}","max_completion_tokens":{limit},"messages":[]}}"#);
        JsonBody::parse(Endpoint::Chat, json).unwrap()
    }

    #[test]
    fn the_answer_comes_off_the_window() {
        let window = JsonWindow::new(Models::new()).default_output(100);
        let target = |budget: Result<ContextBudget, BoxError>| budget.unwrap().target_tokens();
        assert_eq!(target(window.budget(&chat("gpt-4", Some(192)))), 8_000);
        assert_eq!(target(window.budget(&chat("gpt-4", None))), 8_092);
        let older = r#"{"model":"gpt-4","max_tokens":92,"messages":[]}"#;
        let older = JsonBody::parse(Endpoint::Chat, older).unwrap();
        assert_eq!(target(window.budget(&older)), 8_100);
        assert_eq!(target(window.clone().at_most(1_000).budget(&chat("gpt-4", None))), 900);
        // A default must not take all of a small window.
        assert_eq!(
            target(JsonWindow::new(Models::new()).at_most(1_000).budget(&chat("gpt-4", None))),
            750
        );
        let small = Models::new().with("small", Model::new(2_048, Encoding::O200k));
        assert_eq!(target(JsonWindow::new(small).budget(&chat("small", None))), 1_536);
        // Of 400,000 tokens no more than 272,000 may be prompt.
        assert_eq!(target(window.budget(&chat("gpt-5", Some(1_000)))), 272_000);
    }

    #[test]
    fn a_margin_is_passed_on() {
        let margin = |window: JsonWindow| {
            window.budget(&chat("gpt-4", None)).unwrap().estimation_safety_margin_percent()
        };
        let default = if cfg!(feature = "tiktoken") { 0.0 } else { 15.0 };
        assert_eq!(margin(JsonWindow::new(Models::new())), default);
        assert_eq!(margin(JsonWindow::new(Models::new()).safety_margin_percent(7.5)), 7.5);
        let wrong = JsonWindow::new(Models::new()).safety_margin_percent(-1.0);
        assert!(wrong.budget(&chat("gpt-4", None)).is_err());
    }

    #[test]
    fn a_limit_in_a_body_is_read_however_it_is_written() {
        let budget = |endpoint, limit: &str| {
            let json = format!(r#"{{"model":"gpt-4","messages":[],"input":[],{limit}}}"#);
            JsonWindow::new(Models::new()).budget(&JsonBody::parse(endpoint, json).unwrap())
        };
        let target = |limit: &str| budget(Endpoint::Chat, limit).unwrap().target_tokens();
        assert_eq!(target(r#""max_tokens":192.0"#), 8_000);
        assert_eq!(target(r#""max_completion_tokens":1e3,"max_tokens":7"#), 7_192);
        for (endpoint, field) in [
            (Endpoint::Chat, "max_tokens"),
            (Endpoint::Chat, "max_completion_tokens"),
            (Endpoint::Responses, "max_output_tokens"),
        ] {
            let unlimited = budget(endpoint, &format!(r#""{field}":-1"#)).unwrap();
            assert_eq!(unlimited.output_reserve(), 2_048, "{field}");
            let endless = budget(endpoint, &format!(r#""{field}":8192"#)).unwrap();
            assert_eq!(endless.output_reserve(), 2_048, "{field}");
        }
    }

    #[test]
    fn an_unknown_model_is_an_error() {
        let window = JsonWindow::new(Models::new());
        let error = |request: &JsonBody| window.budget(request).unwrap_err().to_string();
        assert!(error(&chat("gpt-99", None)).contains("\"gpt-99\""));
        let known =
            JsonWindow::new(Models::new().with("gpt-99", Model::new(50_000, Encoding::O200k)));
        assert!(known.budget(&chat("gpt-99", None)).is_ok());
    }
}
