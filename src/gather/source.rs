//! A source of candidates: what it yields, how long it may take, and what happens when it fails.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, Stream, TryStreamExt};

use super::BoxError;
use crate::error::CupelError;
use crate::model::{ContextItem, ContextKind, ContextSource};
use crate::slicer::StreamBounds;

/// The items of one source for one request.
pub type CandidateStream = Pin<Box<dyn Stream<Item = Result<ContextItem, BoxError>> + Send>>;

/// Yields candidates for a request.
///
/// Implement it for a type of your own, or use the constructors of [`Source`].
pub trait CandidateSource<Req>: Send + Sync {
    /// The items for this request. Nothing should happen before the stream is polled.
    fn candidates(&self, request: &Req) -> CandidateStream;
}

impl<Req, F> CandidateSource<Req> for F
where
    F: Fn(&Req) -> CandidateStream + Send + Sync,
{
    fn candidates(&self, request: &Req) -> CandidateStream {
        self(request)
    }
}

/// Consequence for a call if a source fails or does not end in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailurePolicy {
    /// The call fails with the source's name and cause.
    Required,
    /// Items that arrived are used and the call goes on. Pins that do not fit are lifted.
    #[default]
    KeepArrived,
    /// Nothing of the source is used and the call goes on. Pins that do not fit are lifted.
    DiscardOnError,
}

/// A source of candidates with its name, its limits, and what happens when it fails.
///
/// ```
/// use std::time::Duration;
/// use cupel::ContextItem;
/// use cupel::gather::Source;
///
/// let manual: Source<String> = Source::list("manual", |question: &String| {
///     let text = format!("a passage about {question}");
///     async move { Ok::<_, cupel::CupelError>(vec![ContextItem::new(text, 6)?]) }
/// })
/// .deadline(Duration::from_millis(150))
/// .limit(20);
/// assert_eq!(manual.name(), "manual");
/// ```
///
/// A source is optional unless it is made [required](Self::required). What an optional source
/// delivered before it failed, or before its deadline or the layer's, is used, and the call goes on.
/// The report says what happened, and the log has one warning with the source's name.
///
/// An optional source cannot fail a call with pinned items either. Its pins hold as far as they fit
/// the budget beside the pins of the request and of required sources, the first ones first. The
/// others are lifted: such an item competes like one without a pin.
/// [`SourceReport::pins_lifted`](super::SourceReport::pins_lifted) counts them. Pins of a required
/// source always hold, and the call fails when they do not fit.
#[must_use]
pub struct Source<Req> {
    pub(crate) name: Arc<str>,
    pub(crate) origin: Arc<dyn CandidateSource<Req>>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) limit: usize,
    pub(crate) failure: FailurePolicy,
    pub(crate) defaults: Arc<Defaults>,
    /// Promises of the source about its items, for selecting while they arrive.
    pub(crate) promises: StreamBounds,
}

/// Field values for items that do not set their own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Defaults {
    kind: Option<ContextKind>,
    source: Option<ContextSource>,
    tags: Vec<String>,
}

impl Defaults {
    pub(crate) fn is_empty(&self) -> bool {
        self.kind.is_none() && self.source.is_none() && self.tags.is_empty()
    }

    /// Fills the fields that stand at the model's own defaults.
    pub(crate) fn apply(&self, item: &ContextItem) -> Result<ContextItem, CupelError> {
        let mut builder = item.to_builder();
        if let Some(kind) = self.kind.as_ref().filter(|_| *item.kind() == ContextKind::default()) {
            builder = builder.kind(kind.clone());
        }
        let chat = ContextSource::default();
        if let Some(source) = self.source.as_ref().filter(|_| *item.source() == chat) {
            builder = builder.source(source.clone());
        }
        if item.tags().is_empty() {
            builder = builder.tags(self.tags.iter().cloned());
        }
        builder.build()
    }
}

impl<Req> Source<Req> {
    /// The item limit of a source that sets none.
    pub const DEFAULT_LIMIT: usize = 10_000;

    /// A source from anything that implements [`CandidateSource`].
    pub fn new(name: impl Into<Arc<str>>, source: impl CandidateSource<Req> + 'static) -> Self {
        Self {
            name: name.into(),
            origin: Arc::new(source),
            deadline: None,
            limit: Self::DEFAULT_LIMIT,
            failure: FailurePolicy::default(),
            defaults: Arc::default(),
            promises: StreamBounds::new(0),
        }
    }

    /// A source from a function that returns a stream for a request.
    pub fn stream<S, E>(
        name: impl Into<Arc<str>>,
        open: impl Fn(&Req) -> S + Send + Sync + 'static,
    ) -> Self
    where
        S: Stream<Item = Result<ContextItem, E>> + Send + 'static,
        E: Into<BoxError> + 'static,
    {
        Self::new(name, move |request: &Req| -> CandidateStream {
            Box::pin(open(request).map_err(Into::into))
        })
    }

    /// A source from an async function that returns a list for a request.
    pub fn list<F, I, E>(
        name: impl Into<Arc<str>>,
        fetch: impl Fn(&Req) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<I, E>> + Send + 'static,
        I: IntoIterator<Item = ContextItem>,
        I::IntoIter: Send + 'static,
        E: Into<BoxError> + Send + 'static,
    {
        Self::new(name, move |request: &Req| -> CandidateStream {
            let fetched = stream::once(fetch(request)).map_err(Into::<BoxError>::into);
            Box::pin(fetched.map_ok(|items| stream::iter(items.into_iter().map(Ok))).try_flatten())
        })
    }

    /// A source that gives every request the same items.
    pub fn items(name: impl Into<Arc<str>>, items: impl Into<Arc<[ContextItem]>>) -> Self {
        let items: Arc<[ContextItem]> = items.into();
        Self::new(name, move |_: &Req| -> CandidateStream {
            let items = Arc::clone(&items);
            let positions = 0..items.len();
            Box::pin(stream::iter(
                positions.filter_map(move |position| items.get(position).cloned()).map(Ok),
            ))
        })
    }

    /// Cuts the source off after this long, counted from the start of gathering.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Asks for at most this many items; [`Source::DEFAULT_LIMIT`] unless set.
    pub fn limit(mut self, items: usize) -> Self {
        self.limit = items;
        self
    }

    /// Fails the call when this source fails, times out, or pins more than fits.
    pub fn required(self) -> Self {
        self.on_failure(FailurePolicy::Required)
    }

    /// Uses what arrived when this source fails or times out; the default.
    pub fn optional(self) -> Self {
        self.on_failure(FailurePolicy::KeepArrived)
    }

    /// Uses nothing of this source when it fails, and what arrived when it times out.
    pub fn discard_on_error(self) -> Self {
        self.on_failure(FailurePolicy::DiscardOnError)
    }

    /// Sets what happens when this source fails or times out.
    pub fn on_failure(mut self, policy: FailurePolicy) -> Self {
        self.failure = policy;
        self
    }

    /// Sets the kind of items that have the default one, [`ContextKind::message`].
    pub fn default_kind(mut self, kind: ContextKind) -> Self {
        Arc::make_mut(&mut self.defaults).kind = Some(kind);
        self
    }

    /// Sets the [`ContextSource`] of items that have the default one, [`ContextSource::chat`].
    pub fn default_source(mut self, source: ContextSource) -> Self {
        Arc::make_mut(&mut self.defaults).source = Some(source);
        self
    }

    /// Gives items without tags these tags.
    pub fn default_tags<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        Arc::make_mut(&mut self.defaults).tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Promises that the layer's scorer gives no item a higher score, so that a selection made
    /// [while items arrive](crate::layer::CupelLayerBuilder::select_while_gathering) can end early.
    ///
    /// This, [`min_tokens`](Self::min_tokens) and [`descending_density`](Self::descending_density)
    /// also promise that no item is pinned. A source that breaks a promise is not believed any
    /// more, and the report says so.
    pub fn max_score(mut self, score: f64) -> Self {
        self.promises = self.promises.max_score(score).never_pinned();
        self
    }

    /// Promises that no item has fewer tokens; without at least 1 a selection cannot end early.
    pub fn min_tokens(mut self, tokens: i64) -> Self {
        self.promises = self.promises.min_tokens(tokens).never_pinned();
        self
    }

    /// Promises that no item has more score per token than the one before it.
    pub fn descending_density(mut self) -> Self {
        self.promises = self.promises.descending_density().never_pinned();
        self
    }

    /// The source's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl<Req> Clone for Source<Req> {
    fn clone(&self) -> Self {
        Self {
            name: Arc::clone(&self.name),
            origin: Arc::clone(&self.origin),
            deadline: self.deadline,
            limit: self.limit,
            failure: self.failure,
            defaults: Arc::clone(&self.defaults),
            promises: self.promises,
        }
    }
}

impl<Req> fmt::Debug for Source<Req> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .field("deadline", &self.deadline)
            .field("limit", &self.limit)
            .field("failure", &self.failure)
            .field("defaults", &self.defaults)
            .field("promises", &self.promises)
            .finish_non_exhaustive()
    }
}
