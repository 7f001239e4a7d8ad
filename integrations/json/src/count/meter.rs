//! Counts everything of one request, by the model's rules.

use std::fmt;
use std::sync::Arc;

use cupel::tokens::TokenCounter;

use super::{Detail, image};
use crate::models::{Model, ModelFacts};

/// A model's counter and rules.
#[derive(Clone)]
pub(crate) struct Meter<M = Model> {
    pub(crate) model: M,
    pub(crate) counter: Arc<dyn TokenCounter>,
}

impl<M: ModelFacts> Meter<M> {
    /// Counts as the model does; text with `counter`, if there is one.
    pub(crate) fn new(model: M, counter: Option<&Arc<dyn TokenCounter>>) -> Self {
        let counter = counter.map_or_else(|| model.counter(), Arc::clone);
        Self { model, counter }
    }

    pub(crate) fn text(&self, text: &str) -> i64 {
        // An empty text needs no entry in the cache.
        if text.is_empty() { 0 } else { self.counter.count(text).max(0) }
    }

    /// What a message in this role costs beside what is in it.
    pub(crate) fn message(&self, role: &str) -> i64 {
        M::FORMAT.message(&*self.counter, role)
    }
}

impl Meter {
    /// An image by its address, which may be the image itself.
    pub(crate) fn image(&self, url: Option<&str>, detail: Detail) -> i64 {
        self.model.images.tokens(url.and_then(image::size_of_data_url), detail)
    }
}

impl<M: fmt::Debug> fmt::Debug for Meter<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counter = self.counter.name();
        f.debug_struct("Meter").field("model", &self.model).field("counter", &counter).finish()
    }
}
