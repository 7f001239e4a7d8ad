//! Settings and steps that the adapters of all APIs share.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use cupel::ContextItem;
use cupel::conversation::{Attributes, Conversation, Message, PartTokens, Rules, Texts};
use cupel::gather::BoxError;
use cupel::layer::{RequestFacts, Split};
use cupel::tokens::TokenCounter;

use crate::count::Meter;
use crate::models::{ModelFacts, ModelTable};
use crate::read::{Entry, Head, MessageView};
use crate::request::Request;
use crate::template::ContextTemplate;

/// An adapter for JSON bodies: [`OpenAiAdapter`](crate::OpenAiAdapter) or
/// [`MessagesAdapter`](crate::MessagesAdapter).
#[derive(Clone, Default)]
#[must_use]
pub struct JsonAdapter<P> {
    pub(crate) api: P,
    pub(crate) counter: Option<Arc<dyn TokenCounter>>,
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
        self.counter = Some(Arc::new(counter));
        self
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
        let steps = match self.counter.as_ref().or(own.as_ref()) {
            Some(counter) if counter.is_ready() => {
                (request.size() as u64).saturating_mul(STEPS_PER_BYTE)
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
            .part_tokens(match M::FORMAT.per_part {
                0 => PartTokens::Free,
                part => PartTokens::OfShare(part),
            })
            .empty_result(M::EMPTY_RESULT)
            .fixed_identity(head.identity);
        let mut split = Split::conversation(conversation, head.tokens, rest)?;
        split.source_frame_tokens = self.template.frame_tokens(meter);
        split.uncounted = uncounted;
        Ok(split)
    }
}

/// Nanoseconds for reading a byte of a request. New text takes about 35 to count, known text about 3 to
/// find in the cache; most of a request is known.
const STEPS_PER_BYTE: u64 = 16;

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
            .field("counter", &self.counter)
            .field("template", &self.template)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}
