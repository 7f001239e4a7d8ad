//! Standing orders: sentences in which a user gives an instruction for later or states a preference.
//!
//! Lists of forms for English, German, French and Spanish recognise them; another language gives none.
//! Only the user's own short paragraphs count. Quotes, code, tags, mail and whatever follows a line like
//! `Context:` are left out, because a document that says "always" gives no orders.
//!
//! ```
//! use cupel::standing::{SentenceKind, standing_sentences};
//!
//! let text = "Can you fix the build? From now on, give exact versions. I have never been to Rome.";
//! let found = standing_sentences(text);
//! assert_eq!(found.len(), 1);
//! assert_eq!(&text[found[0].range.clone()], "From now on, give exact versions.");
//! assert_eq!(found[0].kind, SentenceKind::Directive);
//! ```

mod forms;
mod orders;
mod paragraphs;
mod phrase_index;
mod recogniser;
mod sentences;

pub use orders::{StandingOrder, StandingOrders};
pub(crate) use recogniser::standing_kinds;
pub use recogniser::{SentenceKind, StandingSentence, standing_sentences};
