//! How candidates come out of a request and go back in.

use std::borrow::Cow;

use auto_impl::auto_impl;
use futures::future::BoxFuture;

use crate::conversation::plan::{Planned, Turn};
use crate::gather::BoxError;
use crate::model::{ContextItem, Placed, Refused};
use crate::relevance::Question;

/// Takes the candidates out of a request and puts the selected ones back.
///
/// An adapter is an object beside the request rather than a trait on it, so that requests of other
/// crates can have one. Whatever is not a candidate stays in `Rest` untouched, and its tokens are
/// reported as [`Split::fixed_tokens`], so that the whole request is budgeted.
///
/// A candidate may stand for several messages that only make sense together, such as a tool call
/// and its answer: the adapter makes one item of them and keeps the messages in `Rest`, to unfold
/// them again when the item is placed.
///
/// ```
/// use cupel::gather::BoxError;
/// use cupel::layer::{ContextAdapter, Origin, Placed, Split};
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
///     fn split(&self, mut prompt: Prompt) -> Result<Split<Prompt>, BoxError> {
///         let count = |text: &str| text.split_whitespace().count() as i64;
///         let item = |line: String| ContextItem::new(line.as_str(), count(&line));
///         let lines = std::mem::take(&mut prompt.lines);
///         let candidates = lines.into_iter().map(item).collect::<Result<_, _>>()?;
///         Ok(Split::new(candidates, count(&prompt.instructions), prompt))
///     }
///
///     fn join(&self, mut rest: Prompt, placed: Vec<Placed>) -> Result<Prompt, BoxError> {
///         rest.lines = placed.iter().map(|placed| placed.item.content().to_owned()).collect();
///         Ok(rest)
///     }
/// }
/// ```
#[auto_impl(Arc)]
#[allow(unused_variables)] // the names are for those who override
pub trait ContextAdapter<Req>: Send + Sync {
    /// What is left of a request without its candidates.
    type Rest: Send;

    /// Told once, when a layer is built with it: the time to begin to load what every call will need.
    fn built(&self) {}

    /// Work that would hold the executor for long and has to be done before [`split`](Self::split),
    /// such as loading a vocabulary: the call waits for it, and time-outs around the call hold
    /// meanwhile. [`CountAhead`](super::CountAhead) does it for counting; nothing by default.
    fn before_split(&self, request: &Req) -> Option<BoxFuture<'static, ()>> {
        None
    }

    /// Takes the candidates out.
    ///
    /// # Errors
    ///
    /// Whatever makes the request unusable; the call fails with it before anything is gathered.
    fn split(&self, request: Req) -> Result<Split<Self::Rest>, BoxError>;

    /// Puts the selected items back, in the order they were placed.
    ///
    /// # Errors
    ///
    /// Whatever makes the request impossible; the call fails with it.
    fn join(&self, rest: Self::Rest, placed: Vec<Placed>) -> Result<Req, BoxError>;

    /// The name of the model that a request is for, where it is known: telemetry shows it.
    fn model<'a>(&'a self, request: &'a Req) -> Option<&'a str> {
        None
    }

    /// Which of the placed items cannot be sent after all, because they need others that were not
    /// selected: their positions in `placed`, which ascend, and why.
    ///
    /// They are taken out before [`join`](Self::join), and reported as
    /// [`Filtered`](crate::ExclusionReason::Filtered).
    fn withdrawn(&self, rest: &Self::Rest, placed: &[Placed]) -> Vec<(usize, String)> {
        Vec::new()
    }

    /// As [`split`](Self::split), for a layer that [plans](crate::conversation::plan) its turns.
    ///
    /// # Errors
    ///
    /// As [`split`](Self::split).
    fn split_to_plan(&self, request: Req) -> Result<Split<Self::Rest>, BoxError> {
        self.split(request)
    }

    /// Plans the turn of a request that was taken apart with
    /// [`split_to_plan`](Self::split_to_plan), and keeps the plan for [`join`](Self::join). None
    /// where there is nothing to plan: then candidates are scored and selected.
    ///
    /// If the turn's judge takes long it is called twice: the judge says nothing the first time, is
    /// asked off the executor, and says the second time what came of it. Only the second plan counts.
    fn plan(&self, rest: &mut Self::Rest, turn: &Turn<'_>) -> Option<Planned> {
        None
    }

    /// What a source's item costs once the plan's [`join`](Self::join) has quoted it.
    fn quoted_tokens(&self, rest: &Self::Rest, source: &str, item: &ContextItem) -> i64 {
        self.source_item_tokens(rest, item)
    }

    /// Writes what a plan recalls of a selection, and keeps it for [`join`](Self::join): the tokens
    /// that it adds to the request, exactly. None where the items' own counts and the plan's
    /// [frame](Planned::frame) have to do, which is the default.
    fn quote(&self, rest: &mut Self::Rest, placed: &[Placed]) -> Option<i64> {
        None
    }

    /// The whole text of one of the request's candidates, by its index, where the item's content is
    /// not that: a judge of relevance reads it. None by default, which means the content.
    fn text<'a>(
        &'a self,
        rest: &'a Self::Rest,
        index: usize,
        item: &'a ContextItem,
    ) -> Option<Cow<'a, str>> {
        None
    }

    /// What a source's item costs once [`join`](Self::join) has written it into the request.
    ///
    /// Sources count their text; only the adapter knows what is written around it. The item is
    /// selected, and reported, with this count. Items with a negative one are left out.
    fn source_item_tokens(&self, rest: &Self::Rest, item: &ContextItem) -> i64 {
        item.tokens()
    }

    /// Whether [`source_item_tokens`](Self::source_item_tokens) may answer anything but the item's
    /// own count; `true` unless overridden.
    ///
    /// While it may, copies of one text may differ in size, and a
    /// layer that [selects while gathering](super::CupelLayerBuilder::select_while_gathering) has to
    /// keep all that arrives.
    fn recounts_source_items(&self) -> bool {
        true
    }
}

/// A request taken apart.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Split<Rest> {
    /// The items to select from.
    pub candidates: Vec<ContextItem>,
    /// Tokens of everything that is sent whatever is selected: instructions, tool schemas,
    /// response format, priming. They come off the budget; a negative number is an error.
    pub fixed_tokens: i64,
    /// The request without its candidates.
    pub rest: Rest,
    /// Tokens that are sent once around what sources give, such as a heading. They count as fixed
    /// when the layer has sources and the turn is not planned: a plan quotes what they give.
    pub source_frame_tokens: i64,
    /// Parts that must not be sent, whatever room there is. They are reported as excluded.
    pub refused: Vec<Refused>,
    /// What is sent but cannot be counted, in words; see [`Selection::uncounted`].
    ///
    /// [`Selection::uncounted`]: super::Selection::uncounted
    pub uncounted: Vec<String>,
    /// What is asked, where that is known: a policy's [judge](crate::policy::Relevance) goes by it.
    pub question: Option<Question>,
}

impl<Rest> Split<Rest> {
    /// Candidates, the tokens of everything else, and the rest of the request.
    pub fn new(candidates: Vec<ContextItem>, fixed_tokens: i64, rest: Rest) -> Self {
        Self {
            candidates,
            fixed_tokens,
            rest,
            source_frame_tokens: 0,
            refused: Vec::new(),
            uncounted: Vec::new(),
            question: None,
        }
    }
}
