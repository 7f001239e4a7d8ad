//! Counts everything of one request, by the model's rules.

use std::fmt;
use std::sync::Arc;

use cupel::tokens::{FormatOverhead, TokenCounter, shared_counter};

use super::{Detail, ImageRule, audio, file, image};
use crate::models::Model;

/// What both APIs add around messages.
pub(crate) const FORMAT: FormatOverhead = FormatOverhead::CHAT;

/// A model's counter and rules.
#[derive(Clone)]
pub(crate) struct Meter {
    model: Model,
    counter: Arc<dyn TokenCounter>,
}

impl Meter {
    /// Counts as the model does; text with `counter`, if there is one.
    pub(crate) fn new(model: Model, counter: Option<&Arc<dyn TokenCounter>>) -> Self {
        let counter = match counter {
            Some(counter) => Arc::clone(counter),
            None => shared_counter(model.encoding()),
        };
        Self { model, counter }
    }

    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    pub(crate) fn counter(&self) -> &dyn TokenCounter {
        &*self.counter
    }

    pub(crate) fn shared_counter(&self) -> Arc<dyn TokenCounter> {
        Arc::clone(&self.counter)
    }

    pub(crate) fn image_rule(&self) -> ImageRule {
        self.model.image_rule()
    }

    pub(crate) fn text(&self, text: &str) -> i64 {
        // An empty text needs no entry in the cache.
        if text.is_empty() { 0 } else { self.counter.count(text) }
    }

    /// What a message in this role costs beside what is in it.
    pub(crate) fn message(&self, role: &str) -> i64 {
        FORMAT.message(&*self.counter, role)
    }

    /// An image by its address, which may be the image itself.
    pub(crate) fn image(&self, url: Option<&str>, detail: Detail) -> i64 {
        self.image_rule().tokens(url.and_then(image::size_of_data_url), detail)
    }

    /// Sound in base64.
    pub(crate) fn audio(&self, data: &str) -> i64 {
        audio::tokens(data)
    }

    /// A file in base64.
    pub(crate) fn file(&self, data: &str) -> i64 {
        file::tokens(self, data)
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counter = self.counter.name();
        f.debug_struct("Meter").field("model", &self.model).field("counter", &counter).finish()
    }
}
