//! Lists of forms of directives, preferences and retractions in each language.
//!
//! Forms of sentences are in lower case without accents, as `sentences::folded` writes words. Those of
//! lines are in lower case only.

mod english;
mod form_lists;
mod french;
mod german;
pub(super) mod line_words;
mod spanish;

pub(super) use form_lists::Forms;

pub(super) const ALL: [&Forms; 4] =
    [&english::FORMS, &german::FORMS, &french::FORMS, &spanish::FORMS];
