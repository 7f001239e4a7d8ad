//! Which counter goes with which model.

use std::fmt;
use std::sync::Arc;

use cupel::tokens::{HeuristicCounter, TokenCounter};
use rig_core::completion::CompletionRequest;

/// The counter of a request.
#[derive(Clone)]
pub(super) enum Counters {
    /// The same for all.
    Given(Arc<dyn TokenCounter>),
    /// By the model that the request names, or else by this one.
    ByModel(Option<Arc<str>>, Arc<Known>),
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
                exact.unwrap_or_else(|| Arc::new(HeuristicCounter))
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
pub(super) use exact::Known;
#[cfg(not(feature = "tiktoken"))]
pub(super) use none::Known;

#[cfg(feature = "tiktoken")]
mod exact {
    //! One cached counter for each encoding that was asked for: an agent sends nearly the same
    //! messages on every turn, and counting them exactly is the dearest part of a turn.

    use std::sync::{Arc, OnceLock};

    use cupel::tokens::{BpeCounter, CachedCounter, Encoding, TokenCounter};

    type Cached = OnceLock<Arc<CachedCounter<BpeCounter>>>;

    #[derive(Default)]
    pub(in super::super) struct Known {
        o200k: Cached,
        cl100k: Cached,
    }

    impl Known {
        pub(super) fn exact(&self, model: &str) -> Option<Arc<dyn TokenCounter>> {
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

#[cfg(not(feature = "tiktoken"))]
mod none {
    //! Without feature `tiktoken` every count is an estimate.

    use std::sync::Arc;

    use cupel::tokens::TokenCounter;

    #[derive(Default)]
    pub(in super::super) struct Known;

    impl Known {
        #[allow(clippy::unused_self)] // the other one needs it
        pub(super) fn exact(&self, _model: &str) -> Option<Arc<dyn TokenCounter>> {
            None
        }
    }
}
