//! Reads a request into candidates, and writes the selection back.

use std::collections::BTreeMap;

use auto_impl::auto_impl;

use crate::conversation::{Conversation, Edits, MessageTexts, Rehearsal, Texts};
use crate::gather::BoxError;
use crate::model::{ContextItem, RefusedItem, Strategy};
use crate::relevance::Question;
use crate::tool_choice::ToolOffer;

/// Takes the candidates out of a request and puts the selected ones back.
///
/// An adapter is an object beside the request rather than a trait on it, so that requests of other
/// crates can have one. Whatever is not a candidate stays in `Rest` untouched, and its tokens are
/// reported as [`Split::fixed_tokens`], so that the whole request is budgeted.
///
/// A request is taken apart into items, or into a [`Conversation`]. For a conversation the library
/// decides what is kept, excerpted and quoted, and [`join`](Self::join) writes those [`Edits`].
///
/// ```
/// use cupel::gather::BoxError;
/// use cupel::layer::{ContextAdapter, Edits, Split, Strategy};
/// use cupel::ContextItem;
///
/// /// A request in somebody else's shape.
/// #[derive(Debug, PartialEq)]
/// struct Prompt { instructions: String, lines: Vec<String>, temperature: f32 }
///
/// struct Lines;
///
/// impl ContextAdapter<Prompt> for Lines {
///     type Rest = Prompt;
///
///     fn split(&self, mut prompt: Prompt, _: Strategy) -> Result<Split<Prompt>, BoxError> {
///         let count = |text: &str| text.split_whitespace().count() as i64;
///         let item = |line: String| ContextItem::new(line.as_str(), count(&line));
///         let lines = std::mem::take(&mut prompt.lines);
///         let candidates = lines.into_iter().map(item).collect::<Result<_, _>>()?;
///         Ok(Split::new(candidates, count(&prompt.instructions), prompt))
///     }
///
///     fn join(&self, mut rest: Prompt, edits: &mut Edits) -> Result<Prompt, BoxError> {
///         let lines = edits.placed.iter().map(|placed| placed.item.content().to_owned());
///         rest.lines = lines.collect();
///         Ok(rest)
///     }
/// }
/// ```
#[auto_impl(Arc)]
#[allow(unused_variables)] // the names are for those who override
pub trait ContextAdapter<Req>: Send + Sync {
    /// A request without its candidates.
    type Rest: Send + 'static;

    /// Facts about a request before it is read: its model, and how long reading takes.
    fn facts<'a>(&'a self, request: &'a Req) -> RequestFacts<'a> {
        RequestFacts::default()
    }

    /// Takes the candidates out, for a policy that plans or scores.
    ///
    /// # Errors
    ///
    /// Whatever makes the request unusable; the call fails with it before anything is gathered.
    fn split(&self, request: Req, strategy: Strategy) -> Result<Split<Self::Rest>, BoxError>;

    /// Writes the selection back. For a planned turn it may lower the
    /// [expectation](Edits::expected_mut) of the prompt cache to what its API can know.
    ///
    /// # Errors
    ///
    /// Whatever makes the request impossible; the call fails with it.
    fn join(&self, rest: Self::Rest, edits: &mut Edits) -> Result<Req, BoxError>;

    /// Texts of a conversation's messages, where [`Message::text`](crate::conversation::Message::text)
    /// does not hold them.
    fn texts<'a>(&'a self, rest: &'a Self::Rest) -> Box<dyn Texts + 'a> {
        Box::new(MessageTexts)
    }

    /// Tokens of a source's item once [`join`](Self::join) has written it beside the items of the
    /// request. It is not asked for a conversation: the library quotes the items and counts the quotation.
    ///
    /// Sources count their text; only the adapter knows what is written around it. The item is
    /// selected, and reported, with this count. Items with a negative one are left out.
    fn source_item_tokens(&self, rest: &Self::Rest, item: &ContextItem) -> i64 {
        item.tokens()
    }
}

/// Facts about a request before it is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestFacts<'a> {
    /// Name of the model that the request is for, where it is known: telemetry shows it.
    pub model: Option<&'a str>,
    /// Nanoseconds that [`split`](ContextAdapter::split) takes, about. From
    /// [`CupelLayerBuilder::blocking_threshold`](super::CupelLayerBuilder::blocking_threshold) on it
    /// runs on the blocking pool.
    pub steps: u64,
}

impl<'a> RequestFacts<'a> {
    /// Facts about a request for this model.
    #[must_use]
    pub fn new(model: Option<&'a str>) -> Self {
        Self { model, steps: 0 }
    }

    /// Sets how many nanoseconds reading takes, about.
    #[must_use]
    pub fn steps(mut self, steps: u64) -> Self {
        self.steps = steps;
        self
    }
}

/// A request taken apart.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Split<Rest> {
    /// Items to select from. For a conversation: its units and documents.
    pub candidates: Vec<ContextItem>,
    /// The conversation that the candidates are units of.
    pub conversation: Option<Box<Conversation>>,
    /// Tokens of everything that is sent whatever is selected: instructions, tool schemas,
    /// response format, beginning of the answer. They come off the budget. Negative is an error.
    pub fixed_tokens: i64,
    /// The request without its candidates.
    pub rest: Rest,
    /// Tokens around the items of sources, such as a heading. They count as fixed when the layer has
    /// sources and the turn is not planned.
    pub source_frame_tokens: i64,
    /// `true` if [`source_item_tokens`](ContextAdapter::source_item_tokens) may answer anything but the
    /// item's own count, which is the default.
    ///
    /// While it may, copies of one text may differ in size, and a layer that
    /// [selects while gathering](super::CupelLayerBuilder::select_while_gathering) keeps all that
    /// arrives.
    pub recounts_sources: bool,
    /// Parts that must not be sent, whatever room there is. They are reported as excluded.
    pub refused: Vec<RefusedItem>,
    /// Candidates that are sent only with an earlier one, and that one, by index. Those that were
    /// selected without it are withdrawn, and reported as
    /// [`Filtered`](crate::diagnostics::ExclusionReason::Filtered).
    pub needs: BTreeMap<usize, usize>,
    /// Descriptions of what is sent but cannot be counted; see [`Selection::uncounted`].
    ///
    /// [`Selection::uncounted`]: super::Selection::uncounted
    pub uncounted: Vec<String>,
    /// The question, where it is known: a policy's [judge](crate::policy::Relevance) goes by it. A
    /// conversation knows its own.
    pub question: Option<Question>,
    /// Tools of a conversation's request, in its order. Their tokens are among the fixed ones. In a request
    /// that does not fit some are left out: then [`Edits::tools`] says which stay.
    pub tools: ToolOffer,
}

impl<Rest> Split<Rest> {
    /// Candidates, the tokens of everything else, and the rest of the request.
    pub fn new(candidates: Vec<ContextItem>, fixed_tokens: i64, rest: Rest) -> Self {
        Self {
            candidates,
            conversation: None,
            fixed_tokens,
            rest,
            source_frame_tokens: 0,
            recounts_sources: true,
            refused: Vec::new(),
            needs: BTreeMap::new(),
            uncounted: Vec::new(),
            question: None,
            tools: ToolOffer::default(),
        }
    }

    /// A conversation, the tokens of everything else, and the rest of the request.
    ///
    /// # Errors
    ///
    /// No message of it can be sent.
    pub fn conversation(
        mut conversation: Conversation,
        fixed_tokens: i64,
        rest: Rest,
    ) -> Result<Self, BoxError> {
        conversation.check()?;
        let mut split = Self::new(conversation.take_candidates(), fixed_tokens, rest);
        split.refused = conversation.take_refused();
        split.needs = conversation.needs().clone();
        split.conversation = Some(Box::new(conversation));
        Ok(split)
    }

    /// A dry run of the request's conversation: the turns that a layer without sources would send of it.
    /// None if the request was taken apart into items.
    ///
    /// Read the request with [`ContextAdapter::split`], with the strategy of the policy that is asked,
    /// and pass the adapter's [`texts`](ContextAdapter::texts).
    pub fn rehearsal<'a>(&self, texts: &'a dyn Texts) -> Option<Rehearsal<'a>> {
        let conversation = self.conversation.as_deref()?.clone();
        let refused = self.refused.clone();
        let rehearsal = Rehearsal::of_parts(conversation, self.candidates.clone(), refused)
            .fixed_tokens(self.fixed_tokens)
            .remote(!self.uncounted.is_empty())
            .tools(self.tools.clone());
        Some(rehearsal.texts(texts))
    }
}
