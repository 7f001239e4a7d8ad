//! Which counter goes with which model.

use std::fmt;
use std::sync::{Arc, OnceLock};

use cupel::tokens::{CachedCounter, HeuristicCounter, TokenCounter};
use rig_core::completion::CompletionRequest;

/// The counter of a request.
#[derive(Clone)]
pub(super) enum Counters {
    /// The same for all.
    Given(Arc<dyn TokenCounter>),
    /// By the model that the request names, or else by this one.
    ByModel(Option<Arc<str>>, Arc<Known>),
}

/// The counters that were asked for, each with its cache: an agent sends nearly the same messages
/// on every turn, and counting them is the dearest part of a turn.
#[derive(Default)]
pub(super) struct Known {
    #[cfg(feature = "tiktoken")]
    exact: exact::Exact,
    estimate: OnceLock<Arc<CachedCounter<HeuristicCounter>>>,
}

impl Known {
    fn estimate(&self) -> Arc<dyn TokenCounter> {
        let counter = || Arc::new(CachedCounter::new(HeuristicCounter));
        Arc::<CachedCounter<HeuristicCounter>>::clone(self.estimate.get_or_init(counter))
    }

    #[cfg(feature = "tiktoken")]
    fn exact(&self, model: &str) -> Option<Arc<dyn TokenCounter>> {
        self.exact.counter(model)
    }

    /// Without feature `tiktoken` every count is an estimate.
    #[cfg(not(feature = "tiktoken"))]
    #[allow(clippy::unused_self)] // the other one needs it
    fn exact(&self, _model: &str) -> Option<Arc<dyn TokenCounter>> {
        None
    }
}

impl Counters {
    pub(super) fn by_model(model: Option<&str>) -> Self {
        Self::ByModel(model.map(Arc::from), Arc::default())
    }

    pub(super) fn of(&self, request: &CompletionRequest) -> Arc<dyn TokenCounter> {
        self.named(request.model.as_deref())
    }

    /// The counter where there is no request.
    pub(super) fn without_request(&self) -> Arc<dyn TokenCounter> {
        self.named(None)
    }

    fn named(&self, model: Option<&str>) -> Arc<dyn TokenCounter> {
        match self {
            Self::Given(counter) => Arc::clone(counter),
            Self::ByModel(default, known) => {
                let model = model.or(default.as_deref());
                let exact = model.and_then(|model| known.exact(model));
                exact.unwrap_or_else(|| known.estimate())
            }
        }
    }
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(counter) => f.write_str(counter.name()),
            Self::ByModel(Some(model), _) => write!(f, "by model, {model} unless named"),
            Self::ByModel(None, _) => f.write_str("by model"),
        }
    }
}

#[cfg(feature = "tiktoken")]
mod exact {
    //! Exact counters, one for each encoding.

    use std::sync::{Arc, OnceLock};

    use cupel::tokens::{BpeCounter, CachedCounter, Encoding, TokenCounter};

    type Cached = OnceLock<Arc<CachedCounter<BpeCounter>>>;

    #[derive(Default)]
    pub(super) struct Exact {
        o200k: Cached,
        cl100k: Cached,
    }

    impl Exact {
        pub(super) fn counter(&self, model: &str) -> Option<Arc<dyn TokenCounter>> {
            let encoding = Encoding::for_model(model).ok()?;
            let slot = match encoding {
                Encoding::O200k => &self.o200k,
                Encoding::Cl100k => &self.cl100k,
                _ => return None,
            };
            let counter = || Arc::new(CachedCounter::new(BpeCounter::new(encoding)));
            let counter = Arc::clone(slot.get_or_init(counter));
            Some(counter)
        }
    }
}
