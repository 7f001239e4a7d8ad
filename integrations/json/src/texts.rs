//! The texts of a request's messages, for its plan.

use std::borrow::Cow;

use cupel::ContextItem;
use cupel::conversation::Message;
use cupel::conversation::plan::Texts;
use cupel::tokens::TokenCounter;

use crate::count::Meter;
use crate::template::ContextTemplate;

/// What a plan may read of a request.
pub(crate) struct RequestTexts<'a> {
    pub(crate) messages: &'a [Message],
    /// Which of them are the model's thoughts: they are never quoted.
    pub(crate) thoughts: &'a [bool],
    pub(crate) meter: &'a Meter,
    pub(crate) template: &'a ContextTemplate,
}

impl Texts for RequestTexts<'_> {
    fn counter(&self) -> &dyn TokenCounter {
        self.meter.counter()
    }

    fn write(&self, message: usize, out: &mut String) {
        if self.thoughts.get(message) != Some(&true) {
            out.push_str(self.messages.get(message).map_or("", |message| &message.text));
        }
    }

    fn result(&self, message: usize, number: usize) -> Option<Cow<'_, str>> {
        let message = self.messages.get(message)?;
        (number == 0 && !message.results.is_empty()).then_some(Cow::Borrowed(&*message.text))
    }

    fn retrieved<'a>(&'a self, item: &'a ContextItem) -> Cow<'a, str> {
        Cow::Owned(self.template.item_text(item))
    }
}
