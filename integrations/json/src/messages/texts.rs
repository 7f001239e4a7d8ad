//! The texts of a body's messages, for the plan of its turn.

use std::borrow::Cow;

use cupel::ContextItem;
use cupel::conversation::Message;
use cupel::conversation::plan::Texts;
use cupel::tokens::TokenCounter;

use super::meter::ClaudeMeter;
use super::result;
use crate::template::ContextTemplate;

/// What a plan may read of a request. Thinking is not among what messages show, so it is never
/// quoted.
pub(super) struct BodyTexts<'a> {
    pub(super) read: &'a [Message],
    pub(super) json: Vec<&'a str>,
    pub(super) meter: &'a ClaudeMeter,
    pub(super) template: &'a ContextTemplate,
}

impl Texts for BodyTexts<'_> {
    fn counter(&self) -> &dyn TokenCounter {
        self.meter.counter()
    }

    fn write(&self, message: usize, out: &mut String) {
        out.push_str(self.read.get(message).map_or("", |message| &message.text));
    }

    fn result(&self, message: usize, number: usize) -> Option<Cow<'_, str>> {
        let json = self.json.get(message)?;
        let place = result::texts(json).into_iter().nth(number)?;
        serde_json::from_str(json.get(place)?).ok().map(Cow::Owned)
    }

    fn retrieved<'a>(&'a self, item: &'a ContextItem) -> Cow<'a, str> {
        Cow::Owned(self.template.item_text(item))
    }
}
